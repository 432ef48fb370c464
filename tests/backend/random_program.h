// Random raw programs with loops, calls and memory accesses that depend on the registers they begin with.
#pragma once

#include <vector>

#include "simulated.h"

namespace kvrm::backend::test {

class RandomProgram {
 public:
  static constexpr u32 kData = 20;             // x20: the address of the data
  static constexpr u64 kDataBytes = 3 * 4096;  // accesses begin in the first two pages

  explicit RandomProgram(u64 seed) : random_(seed) {
    // The first function is the program; each may call those after it.
    for (u32 i = 0; i < kFunctions; ++i) {
      function_ = i;
      starts_.push_back(here());
      if (i != 0) put(0xa9bf7bfd);  // stp x29, x30, [sp, #-16]!
      block(0);
      if (i == 0) {
        put(0xd4400000);  // hlt #0
      } else {
        put(0xa8c17bfd);  // ldp x29, x30, [sp], #16
        put(0xd65f03c0);  // ret
      }
    }
    for (const auto& [at, function] : calls_) words_[at] = 0x94000000 | ((starts_[function] - at) & 0x3ffffff);
  }
  const std::vector<u32>& words() const { return words_; }

 private:
  static constexpr u32 kFunctions = 4;

  u32 here() const { return u32(words_.size()); }
  void put(u32 word) { words_.push_back(word); }
  u32 any() { return u32(below(random_, 10)); }  // x0 to x9
  u32 pick(std::initializer_list<u32> words) { return words.begin()[below(random_, words.size())]; }

  void block(u32 depth) {
    for (u64 left = 2 + below(random_, 5); left > 0; --left) {
      switch (below(random_, 10)) {
        case 0: loop(depth); break;
        case 1: condition(depth); break;
        case 2: call(); break;
        case 3: cold(); break;
        case 4:
        case 5: access(); break;
        default: arithmetic();
      }
    }
  }
  void arithmetic() {
    const u32 width = below(random_, 3) == 0 ? 0 : 0x80000000;
    // add, sub, eor, and, adds, subs, madd, udiv, lslv, csel, csinc, orr
    const u32 word = pick({0x0b000000, 0x4b000000, 0x4a000000, 0x0a000000, 0x2b000000, 0x6b000000, 0x1b000000,
                           0x1ac00800, 0x1ac02000, 0x1a80b000, 0x1a801400, 0x2a000000});
    put(word | width | any() << 16 | any() << 5 | any());
  }
  void access() {
    put(0x92400000 | 12 << 10 | any() << 5 | 10);  // and x10, xn, #0x1fff
    if (below(random_, 2) == 0) put(0x927df14a);   // and x10, x10, #~7
    const u32 where = 10 << 16 | kData << 5 | any();
    // str, ldr, strb, ldrb, ldrsw, strh, str w, ldr w
    put(where | pick({0xf8206800, 0xf8606800, 0x38206800, 0x38606800, 0xb8a06800, 0x78206800, 0xb8206800, 0xb8606800}));
    if (below(random_, 4) == 0) put(0xa9400000 | kData << 5 | 9 << 10 | any());          // ldp xn, x9, [x20]
    if (below(random_, 8) == 0) put(0x3d800000 | 255 << 10 | kData << 5 | any());        // str qn, [x20, #4080]
  }
  void cold() {
    switch (below(random_, 6)) {
      case 0: put(0x9e670000 | any() << 5 | any()); break;                       // fmov d, x
      case 1: put(0x1e602800 | any() << 16 | any() << 5 | any()); break;         // fadd d, d, d
      case 2: put(0x9e660000 | any() << 5 | any()); break;                       // fmov x, d
      case 3: put(0x4ea08400 | any() << 16 | any() << 5 | any()); break;         // add v.4s
      case 4: put(0xd53be040 | any()); break;                                    // mrs x, cntvct_el0
      default:
        put(0xc85f7c00 | kData << 5 | 11);             // ldxr x11, [x20]
        put(0xc8007c00 | 12 << 16 | kData << 5 | 11);  // stxr w12, x11, [x20]
    }
  }
  void loop(u32 depth) {
    if (depth + function_ >= 2) return arithmetic();
    const u32 counter = 13 + depth + function_ * 2;         // x13 to x15
    put(0x92400800 | any() << 5 | counter);                 // and xc, xn, #7
    put(0x91000400 | counter << 5 | counter);               // add xc, xc, #1
    const u32 start = here();
    block(depth + 1);
    put(0xf1000400 | counter << 5 | counter);               // subs xc, xc, #1
    put(0x54000001 | ((start - here()) & 0x7ffff) << 5);    // b.ne
  }
  void condition(u32 depth) {
    const u32 at = here();
    put(0);
    if (depth < 2) block(depth + 1);
    const u32 offset = here() - at;
    // cbz, tbz #0, b.lt over the block
    const u32 kind = u32(below(random_, 3));
    words_[at] = kind == 0   ? 0xb4000000 | offset << 5 | any()
                 : kind == 1 ? 0x36000000 | (offset & 0x3fff) << 5 | any()
                             : 0x5400000b | offset << 5;
  }
  void call() {
    if (function_ + 1 == kFunctions) return arithmetic();
    calls_.emplace_back(here(), function_ + 1 + u32(below(random_, kFunctions - 1 - function_)));
    put(0);
  }

  Random random_;
  u32 function_ = 0;
  std::vector<u32> words_, starts_;
  std::vector<std::pair<u32, u32>> calls_;
};

}  // namespace kvrm::backend::test
