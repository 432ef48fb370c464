// Words of a row for the comparison: random ones, with the values where texts change favored.
#pragma once

#include <random>
#include <vector>

#include "isa/decode.h"

namespace kvrm::test {

class RandomWords {
 public:
  explicit RandomWords(isa::Row row) : row_(row), random_(0x6b76726du + static_cast<u32>(row)) {}

  // All words of the row if it has at most `count`, else `count` random ones (with repetitions).
  std::vector<u32> take(u32 count) {
    std::vector<u32> words;
    const u32 free = ~isa::facts(row_).mask;
    if (u64{1} << __builtin_popcount(free) <= count) {
      u32 subset = 0;
      do {
        add(words, subset);
        subset = (subset - free) & free;  // the next subset of the free bits
      } while (subset);
      return words;
    }
    // A row whose condition refuses most words must not keep us for ever.
    for (u32 tries = 0; words.size() < count && tries < 400 * count; ++tries) add(words, next() & free);
    return words;
  }

 private:
  void add(std::vector<u32>& words, u32 fields) {
    const u32 word = isa::facts(row_).bits | fields;
    if (isa::accepts(row_, word)) words.push_back(word);
  }

  u32 random() { return static_cast<u32>(random_()); }

  static u32 replace(u32 word, u32 low, u32 width, u32 value) {
    return (word & ~(((1u << width) - 1) << low)) | value << low;
  }

  // Aliases depend on registers being 31 or equal and on immediates being 0 or all ones.
  u32 next() {
    u32 word = random();
    const u32 how = random();
    if (how & 1) word = (how & 2) ? word & random() & random() : word | random() | random();
    if ((how & 0x1c) == 0) word = (how & 0x20) ? 0 : ~0u;
    constexpr u32 kImmediates[] = {0, 7, 15, 31, 63};  // bitfields that are extensions, whole registers
    if (random() % 8 == 0) word = replace(word, 16, 6, kImmediates[random() % 5]);
    if (random() % 8 == 0) word = replace(word, 10, 6, kImmediates[random() % 5]);
    constexpr u32 kRegisterAt[] = {0, 5, 10, 16};
    for (u32 at : kRegisterAt) {
      const u32 choice = random() % 8;
      if (choice == 0) word = replace(word, at, 5, 31);
      if (choice == 1) word = replace(word, at, 5, 30);
      if (choice == 2) word = replace(word, at, 5, word >> 5 & 31);
      if (choice == 3) word = replace(word, at, 5, 0);
    }
    return word;
  }

  isa::Row row_;
  std::mt19937 random_;
};

}  // namespace kvrm::test
