// Element size and amount of the shifts by immediate, vector and scalar.
#pragma once

#include "base/types.h"

namespace kvrm::semantics {

// log2 of the element's bytes; for narrowing and widening shifts, of the narrow element's.
KVRM_INLINE u32 shift_scale(u8 immh) { return 31 - static_cast<u32>(__builtin_clz(immh)); }

template <class Op>
KVRM_INLINE u32 right_amount(const Op& op) {
  return (16u << shift_scale(op.immh)) - (static_cast<u32>(op.immh) << 3 | op.immb);
}
template <class Op>
KVRM_INLINE u32 left_amount(const Op& op) {
  return (static_cast<u32>(op.immh) << 3 | op.immb) - (8u << shift_scale(op.immh));
}

}  // namespace kvrm::semantics
