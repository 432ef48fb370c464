// Advanced SIMD across lanes: one element from all of a register.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

// Elements converted to R and combined by f, which does not care about their order.
template <class R, class E, class F, class G>
KVRM_INLINE R reduce(const Elements<E>& source, F convert, G f) {
  R result = convert(source[0]);
#pragma GCC unroll 15
  for (u32 i = 1; i < kLanes<E>; ++i) result = f(result, convert(source[i]));
  return result;
}

// A sum, in twice the elements' width if kLong. The zeros above a 64-bit source add nothing.
template <bool kSigned, bool kLong, class Op>
KVRM_INLINE void sum_across(Cpu& cpu, const Op& op) {
  const U128 n = keep_half(cpu.q[op.Vn], op.Q);
  const u64 sum = by_size<Size::kB, Size::kS>(op.size, [&]<class E>(E) KVRM_LAMBDA -> u64 {
    const auto convert = [](E value) KVRM_LAMBDA { return extend_element<kSigned>(value); };
    const auto sum_up = [](Wide<E> a, Wide<E> b) KVRM_LAMBDA { return add(a, b); };
    const Wide<E> result = reduce<Wide<E>>(Elements<E>(n), convert, sum_up);
    return kLong ? u64{result} : u64{static_cast<E>(result)};
  });
  cpu.q[op.Vd] = U128{sum, 0};
}

// A maximum or minimum. A 64-bit source is taken twice, which changes neither.
template <class Op, class F>
KVRM_INLINE void choose_across(Cpu& cpu, const Op& op, F f) {
  const U128 source = cpu.q[op.Vn];
  const U128 n{source.lo, op.Q ? source.hi : source.lo};
  const u64 chosen = by_size<Size::kB, Size::kS>(op.size, [&]<class E>(E) KVRM_LAMBDA -> u64 {
    return reduce<E>(Elements<E>(n), [](E value) KVRM_LAMBDA { return value; }, f);
  });
  cpu.q[op.Vd] = U128{chosen, 0};
}

template <class M>
KVRM_INLINE void ADDV_v(Cpu& cpu, M&, const isa::ADDV_v& op) {
  sum_across<false, false>(cpu, op);
}

template <class M>
KVRM_INLINE void SADDLV_v(Cpu& cpu, M&, const isa::SADDLV_v& op) {
  sum_across<true, true>(cpu, op);
}

template <class M>
KVRM_INLINE void UADDLV_v(Cpu& cpu, M&, const isa::UADDLV_v& op) {
  sum_across<false, true>(cpu, op);
}

template <class M>
KVRM_INLINE void SMAXV_v(Cpu& cpu, M&, const isa::SMAXV_v& op) {
  choose_across(cpu, op, []<class E>(E a, E b) KVRM_LAMBDA { return maximum<true>(a, b); });
}

template <class M>
KVRM_INLINE void UMAXV_v(Cpu& cpu, M&, const isa::UMAXV_v& op) {
  choose_across(cpu, op, []<class E>(E a, E b) KVRM_LAMBDA { return maximum<false>(a, b); });
}

template <class M>
KVRM_INLINE void SMINV_v(Cpu& cpu, M&, const isa::SMINV_v& op) {
  choose_across(cpu, op, []<class E>(E a, E b) KVRM_LAMBDA { return minimum<true>(a, b); });
}

template <class M>
KVRM_INLINE void UMINV_v(Cpu& cpu, M&, const isa::UMINV_v& op) {
  choose_across(cpu, op, []<class E>(E a, E b) KVRM_LAMBDA { return minimum<false>(a, b); });
}

}  // namespace kvrm::semantics
