// Compare and swap. Acquire and release are fences on both sides.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class T, class Op, class M>
KVRM_INLINE Trap compare_and_swap(Cpu& cpu, M& memory, const Op& op) {
  const u64 address = cpu.x[op.Rn];
  KVRM_TRY(check_aligned<T>(cpu, address, Access::kWrite));
  T observed{};
  memory.fence();
  KVRM_TRY(memory.compare_exchange(cpu, address, read<T>(cpu, op.Rs), read<T>(cpu, op.Rt), observed));
  memory.fence();
  write(cpu, op.Rs, observed);
  return Trap::kNone;
}

// The register after an even one; after 30 comes the zero register.
KVRM_INLINE u8 odd_of(u8 even) { return static_cast<u8>(even + 1); }

template <class T, class Op, class M>
KVRM_INLINE Trap compare_and_swap_pair(Cpu& cpu, M& memory, const Op& op) {
  const u64 address = cpu.x[op.Rn];
  KVRM_TRY(check_aligned<Pair<T>>(cpu, address, Access::kWrite));
  const Pair<T> expected{read<T>(cpu, op.Rs), read<T>(cpu, odd_of(op.Rs))};
  const Pair<T> desired{read<T>(cpu, op.Rt), read<T>(cpu, odd_of(op.Rt))};
  Pair<T> observed{};
  memory.fence();
  KVRM_TRY(memory.compare_exchange(cpu, address, expected, desired, observed));
  memory.fence();
  write(cpu, op.Rs, observed.first);
  write(cpu, odd_of(op.Rs), observed.second);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap CASB(Cpu& cpu, M& memory, const isa::CASB& op) {
  return compare_and_swap<u8>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap CASH(Cpu& cpu, M& memory, const isa::CASH& op) {
  return compare_and_swap<u16>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap CAS(Cpu& cpu, M& memory, const isa::CAS& op) {
  return op.sf ? compare_and_swap<u64>(cpu, memory, op) : compare_and_swap<u32>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap CASP(Cpu& cpu, M& memory, const isa::CASP& op) {
  return op.sf ? compare_and_swap_pair<u64>(cpu, memory, op) : compare_and_swap_pair<u32>(cpu, memory, op);
}

}  // namespace kvrm::semantics
