// Floating point by indexed element: the element H, H:L or H:L:M of a register, in every element. Where M is not part
// of the index it is the top bit of the register's number.
#pragma once

#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE U128 indexed_float(const Cpu& cpu, const Op& op) {
  if constexpr (requires { op.sz; }) {
    const U128 m = cpu.q[op.M << 4 | op.Vm];
    if (op.sz) return replicate<u64>(element<u64>(m, op.H));
    return replicate<u32>(element<u32>(m, static_cast<u32>(op.H << 1 | op.L)));
  } else {
    const U128 m = cpu.q[op.Vm];
    return replicate<u16>(element<u16>(m, static_cast<u32>(op.H << 2 | op.L << 1 | op.M)));
  }
}

template <class Op, class Operation>
KVRM_INLINE void float_by_element(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = indexed_float(cpu, op);
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), n, m));
}

template <class Op, class Operation>
KVRM_INLINE void float_accumulate_by_element(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = indexed_float(cpu, op);
  const U128 d = cpu.q[op.Vd];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), d, n, m));
}

}  // namespace kvrm::semantics
