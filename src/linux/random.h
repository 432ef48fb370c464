// The guest's randomness: a fixed sequence for each seed, so that runs repeat (splitmix64).
#pragma once

#include <cstddef>
#include <cstring>

#include "base/types.h"

namespace kvrm::linux_abi {

class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}

  u64 next() {
    state_ += 0x9e3779b97f4a7c15;
    u64 z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  void fill(u8* to, std::size_t size) {
    while (size != 0) {
      const u64 word = next();
      const std::size_t n = size < sizeof word ? size : sizeof word;
      std::memcpy(to, &word, n);
      to += n;
      size -= n;
    }
  }

 private:
  u64 state_;
};

}  // namespace kvrm::linux_abi
