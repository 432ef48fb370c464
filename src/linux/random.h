// The guest's randomness: a fixed sequence for each seed, so that runs repeat (splitmix64).
#pragma once

#include "base/types.h"

namespace kvrm::linux_abi {

struct Random {
  u64 state = 0;  // at first the seed

  u64 next() {
    state += 0x9e3779b97f4a7c15;
    u64 z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  void fill(u8* to, u64 size) {
    for (u64 done = 0; done < size;) {
      u64 word = next();
      for (u64 i = 0; i < sizeof word && done < size; ++i, ++done, word >>= 8) to[done] = u8(word);
    }
  }
};

}  // namespace kvrm::linux_abi
