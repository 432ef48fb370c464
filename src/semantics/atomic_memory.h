// Atomic memory operations: read, combine, write back, as one step.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class T, class Op, class M, class F>
KVRM_INLINE Trap atomic_update_of(Cpu& cpu, M& memory, const Op& op, F combine) {
  const u64 address = cpu.x[op.Rn];
  const T operand = read<T>(cpu, op.Rs);
  KVRM_TRY(check_aligned<T>(cpu, address, Access::kWrite));
  T expected{};
  T observed{};
  memory.fence();
  do {
    KVRM_TRY(memory.load(cpu, address, expected));
    KVRM_TRY(memory.compare_exchange(cpu, address, expected, static_cast<T>(combine(expected, operand)), observed));
  } while (observed != expected);
  memory.fence();
  write(cpu, op.Rt, observed);
  return Trap::kNone;
}

template <class Op, class M, class F>
KVRM_INLINE Trap atomic_update(Cpu& cpu, M& memory, const Op& op, F combine) {
  switch (op.size) {
    case 0: return atomic_update_of<u8>(cpu, memory, op, combine);
    case 1: return atomic_update_of<u16>(cpu, memory, op, combine);
    case 2: return atomic_update_of<u32>(cpu, memory, op, combine);
    default: return atomic_update_of<u64>(cpu, memory, op, combine);
  }
}

template <class M>
KVRM_INLINE Trap LDADD(Cpu& cpu, M& memory, const isa::LDADD& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old + operand; });
}

template <class M>
KVRM_INLINE Trap LDCLR(Cpu& cpu, M& memory, const isa::LDCLR& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old & ~operand; });
}

template <class M>
KVRM_INLINE Trap LDEOR(Cpu& cpu, M& memory, const isa::LDEOR& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old ^ operand; });
}

template <class M>
KVRM_INLINE Trap LDSET(Cpu& cpu, M& memory, const isa::LDSET& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old | operand; });
}

template <class M>
KVRM_INLINE Trap SWP(Cpu& cpu, M& memory, const isa::SWP& op) {
  return atomic_update(cpu, memory, op, [](auto, auto operand) { return operand; });
}

// Greater as signed numbers.
template <class T>
KVRM_INLINE bool signed_greater(T a, T b) {
  return static_cast<Signed<T>>(a) > static_cast<Signed<T>>(b);
}

template <class M>
KVRM_INLINE Trap LDSMAX(Cpu& cpu, M& memory, const isa::LDSMAX& op) {
  return atomic_update(cpu, memory, op,
                       [](auto old, auto operand) { return signed_greater(old, operand) ? old : operand; });
}

template <class M>
KVRM_INLINE Trap LDSMIN(Cpu& cpu, M& memory, const isa::LDSMIN& op) {
  return atomic_update(cpu, memory, op,
                       [](auto old, auto operand) { return signed_greater(old, operand) ? operand : old; });
}

template <class M>
KVRM_INLINE Trap LDUMAX(Cpu& cpu, M& memory, const isa::LDUMAX& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old > operand ? old : operand; });
}

template <class M>
KVRM_INLINE Trap LDUMIN(Cpu& cpu, M& memory, const isa::LDUMIN& op) {
  return atomic_update(cpu, memory, op, [](auto old, auto operand) { return old > operand ? operand : old; });
}

}  // namespace kvrm::semantics
