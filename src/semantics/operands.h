// Operand forms that several groups share: shifted and extended registers, bitmask immediates.
#pragma once

#include "semantics/registers.h"

namespace kvrm::semantics {

enum ShiftKind : u8 { kLsl = 0, kLsr = 1, kAsr = 2, kRor = 3 };

// 0 <= amount < width.
template <class T>
KVRM_INLINE T shift(T value, u8 kind, u32 amount) {
  switch (kind) {
    case kLsl: return static_cast<T>(value << amount);
    case kLsr: return static_cast<T>(value >> amount);
    case kAsr: return static_cast<T>(static_cast<Signed<T>>(value) >> amount);
    default: return rotate_right(value, amount);
  }
}

// ExtendReg() of the manual: option is unsigned/signed in bit 2 and the width below it.
KVRM_INLINE u64 extend(u64 value, u8 option, u32 left) {
  const u32 width = 8u << (option & 3);
  const u64 extended = option & 4 ? sign_extend(value, width) : value & low_ones(width);
  return extended << left;
}

// An element of so many bits, 2 to 64, again and again over 64 bits. Dividing all ones by the element's ones gives 1 at
// the bottom of each repetition. A division takes a hundred instructions on a GPU: there shifts do it.
constexpr u64 repeated_by_product(u64 element, u32 size) { return element * (~u64{0} / low_ones(size)); }
constexpr u64 repeated_by_shifts(u64 element, u32 size) {
#pragma GCC unroll 8
  for (u32 width = 2; width < 64; width *= 2) element |= size <= width ? element << width : 0;
  return element;
}
constexpr bool repeat_alike(u32 size) {
  for (u64 bit = 0; bit < size; ++bit) {
    if (repeated_by_product(u64{1} << bit, size) != repeated_by_shifts(u64{1} << bit, size)) return false;
  }
  return true;
}
static_assert(repeat_alike(2) && repeat_alike(4) && repeat_alike(8) && repeat_alike(16) && repeat_alike(32) &&
              repeat_alike(64));

// The immediate of the logical group: a run of imms + 1 ones, rotated right by immr, repeated over the register.
// The decoder has refused the reserved forms.
KVRM_INLINE u64 bitmask_immediate(u8 n, u8 imms, u8 immr) {
  const u32 pattern = static_cast<u32>(n) << 6 | (~static_cast<u32>(imms) & 63);
  const u32 size = 1u << (31 - static_cast<u32>(__builtin_clz(pattern | 1)));
  const u32 run = (imms & (size - 1)) + 1;
  const u32 rotation = immr & (size - 1);
  const u64 ones = low_ones(run);
  const u64 element = rotation ? (ones >> rotation | ones << (size - rotation)) & low_ones(size) : ones;
#if defined(__NVPTX__)
  return repeated_by_shifts(element, size);
#else
  return repeated_by_product(element, size);
#endif
}

}  // namespace kvrm::semantics
