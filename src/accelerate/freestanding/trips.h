// For how many iterations a compare of affine values holds.
#pragma once

#include "accelerate/freestanding/expression.h"

namespace kvrm::accelerate {

inline constexpr u64 kForever = ~u64{0};

// x, x + step, ... stay within [least, most] for so many iterations, without wrapping. All values have `width` bits.
constexpr u64 trips_within(u64 x, u64 step, u64 least, u64 most, u32 width) {
  if (x < least || x > most) return 0;
  const i64 by = sign_extended(step, width);
  if (by == 0) return kForever;
  const u64 room = by > 0 ? most - x : x - least;
  const u64 size = by > 0 ? static_cast<u64>(by) : u64{0} - static_cast<u64>(by);
  // Divisions of 64 bits are slow on a GPU.
  const u64 more = (size & (size - 1)) == 0   ? room >> __builtin_ctzll(size)
                   : (room | size) >> 32 == 0 ? static_cast<u32>(room) / static_cast<u32>(size)
                                              : room / size;
  return more == kForever ? kForever : more + 1;
}

// The inverse of an odd number mod 2^64.
constexpr u64 odd_inverse(u64 odd) {
  u64 inverse = odd;
  for (u32 i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

// x, x + step, ... differ from zero for so many iterations.
constexpr u64 trips_until_zero(u64 x, u64 step, u32 width) {
  if (x == 0) return 0;
  if (step == 0) return kForever;
  u32 twos = 0;
  while ((step >> twos & 1) == 0) ++twos;
  if ((x & mask_of(twos)) != 0) return kForever;
  return ((0 - x) >> twos) * odd_inverse(step >> twos) & mask_of(width - twos);
}

// op(a + i * step_a, b + i * step_b) is `wanted` for so many i from 0 on, at least.
constexpr u64 trips_of(Op op, bool wanted, u64 a, u64 step_a, u64 b, u64 step_b, u32 width) {
  const u64 mask = mask_of(width);
  if (op == Op::kEqual || op == Op::kNotEqual) {
    const u64 difference = (a - b) & mask, step = (step_a - step_b) & mask;
    if ((op == Op::kNotEqual) == wanted) return trips_until_zero(difference, step, width);
    return difference != 0 ? 0 : step == 0 ? kForever : 1;
  }
  const bool is_signed = op == Op::kLessSigned || op == Op::kLessEqualSigned;
  const bool is_strict = op == Op::kLess || op == Op::kLessSigned;
  if (is_signed) {  // the order of numbers without a sign, half way around
    const u64 half = u64{1} << (width - 1);
    a = (a + half) & mask;
    b = (b + half) & mask;
  }
  if (step_a != 0 && step_b != 0) {  // one iteration at a time
    return (is_strict ? a < b : a <= b) == wanted ? 1 : 0;
  }
  const bool a_moves = step_a != 0;
  const u64 x = a_moves ? a : b, fixed = a_moves ? b : a, step = a_moves ? step_a : step_b;
  // "x is below" if a moves and the compare should hold, or if b moves and it should not.
  if (a_moves == wanted) {
    const bool excludes = a_moves == wanted && (is_strict == wanted);
    if (excludes && fixed == 0) return 0;
    return trips_within(x, step, 0, excludes ? fixed - 1 : fixed, width);
  }
  const bool excludes = is_strict == wanted;
  if (excludes && fixed == mask) return 0;
  return trips_within(x, step, excludes ? fixed + 1 : fixed, mask, width);
}

}  // namespace kvrm::accelerate
