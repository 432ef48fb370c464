// Operands that favor the values where floating point goes wrong.
#pragma once

#include <bit>

#include "semantics/float.h"

namespace kvrm::testing {

class Operands {
 public:
  explicit Operands(u64 seed) : state_(seed) {}

  u64 next() {  // splitmix64
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  u32 below(u32 limit) { return static_cast<u32>(next() >> 32) % limit; }

  // Zeros, denormals, infinities, NaNs of both kinds, powers of two, runs of ones and zeros, plain numbers.
  template <class T>
  T pick() {
    using namespace semantics;
    const T sign = static_cast<T>(next() & kSignBit<T>);
    const T fraction = this->fraction<T>();
    const auto make = [&](i32 exponent, T bits) {
      return static_cast<T>(sign | static_cast<T>(static_cast<T>(exponent) << kFractionBits<T>) | bits);
    };
    switch (below(16)) {
      case 0: return make(0, 0);
      case 1: return make(0, fraction);
      case 2: return make(kExponentMax<T>, 0);
      case 3: return make(kExponentMax<T>, fraction);
      case 4: return make(1, fraction);
      case 5: return make(kExponentMax<T> - 1, fraction);
      case 6: return make(kBias<T>, fraction);
      case 7: return make(kBias<T> / 2 + static_cast<i32>(below(kFractionBits<T> + 4)) - 2, fraction);
      case 8: return make(kBias<T> + kBias<T> / 2 + static_cast<i32>(below(4)) - 1, fraction);
      case 9: return static_cast<T>(next());
      default: return make(kBias<T> - 12 + static_cast<i32>(below(24)), fraction);
    }
  }

 private:
  template <class T>
  T fraction() {
    using namespace semantics;
    constexpr T kAll = kFractionMask<T>;
    switch (below(6)) {
      case 0: return 0;
      case 1: return kAll;
      case 2: return static_cast<T>(T{1} << below(kFractionBits<T>));
      case 3: return static_cast<T>(kAll & static_cast<T>(kAll << below(kFractionBits<T>)));
      default: return static_cast<T>(next() & kAll);
    }
  }

  u64 state_;
};

inline constexpr u32 mode_of(semantics::Rounding rounding) {
  return static_cast<u32>(rounding) << semantics::kRoundingShift;
}
inline constexpr semantics::Rounding kModeRoundings[] = {semantics::Rounding::kNearest, semantics::Rounding::kUp,
                                                         semantics::Rounding::kDown, semantics::Rounding::kZero};

}  // namespace kvrm::testing
