// The operand that "by element" rows take from Vm: one element, its index spread over H, L and M. M is a bit of the
// index for 16-bit elements and of the register's number for wider ones, which leaves V0 to V15 for the former.
#pragma once

#include "base/cpu.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u16 indexed_halfword(const Cpu& cpu, const Op& op) {
  const U128 m = cpu.q[op.Vm];
  return element<u16>(m, static_cast<u32>(op.H << 2 | op.L << 1 | op.M));
}

template <class Op>
KVRM_INLINE u32 indexed_word(const Cpu& cpu, const Op& op) {
  const U128 m = cpu.q[op.M << 4 | op.Vm];
  return element<u32>(m, static_cast<u32>(op.H << 1 | op.L));
}

// Of the size of the integer rows that have one: 16 or 32 bits.
template <class Op>
KVRM_INLINE u32 indexed_element(const Cpu& cpu, const Op& op) {
  return op.size == 1 ? indexed_halfword(cpu, op) : indexed_word(cpu, op);
}

// A source for map(): the same element everywhere.
template <class E>
struct SameElement {
  static constexpr u32 kCount = kLanes<E>;
  E value;

  KVRM_INLINE explicit SameElement(E same) : value(same) {}
  KVRM_INLINE E operator[](u32) const { return value; }
};

}  // namespace kvrm::semantics
