// Advanced SIMD shift by immediate. The highest set bit of immh is the element size; immh:immb minus that size, or from
// twice that size, is the amount.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/shift_amounts.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

// --- right ---

template <class M>
KVRM_INLINE void SSHR_v(Cpu& cpu, M&, const isa::SSHR_v& op) {
  const u32 amount = right_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return shift_right<true>(n, amount); });
}

template <class M>
KVRM_INLINE void USHR_v(Cpu& cpu, M&, const isa::USHR_v& op) {
  const u32 amount = right_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return shift_right<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SRSHR_v(Cpu& cpu, M&, const isa::SRSHR_v& op) {
  const u32 amount = right_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return rounding_shift_right<true>(n, amount); });
}

template <class M>
KVRM_INLINE void URSHR_v(Cpu& cpu, M&, const isa::URSHR_v& op) {
  const u32 amount = right_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return rounding_shift_right<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SSRA_v(Cpu& cpu, M&, const isa::SSRA_v& op) {
  const u32 amount = right_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh), [amount]<class E>(E d, E n) KVRM_LAMBDA {
    return add(d, shift_right<true>(n, amount));
  });
}

template <class M>
KVRM_INLINE void USRA_v(Cpu& cpu, M&, const isa::USRA_v& op) {
  const u32 amount = right_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh), [amount]<class E>(E d, E n) KVRM_LAMBDA {
    return add(d, shift_right<false>(n, amount));
  });
}

template <class M>
KVRM_INLINE void SRSRA_v(Cpu& cpu, M&, const isa::SRSRA_v& op) {
  const u32 amount = right_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh), [amount]<class E>(E d, E n) KVRM_LAMBDA {
    return add(d, rounding_shift_right<true>(n, amount));
  });
}

template <class M>
KVRM_INLINE void URSRA_v(Cpu& cpu, M&, const isa::URSRA_v& op) {
  const u32 amount = right_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh), [amount]<class E>(E d, E n) KVRM_LAMBDA {
    return add(d, rounding_shift_right<false>(n, amount));
  });
}

template <class M>
KVRM_INLINE void SRI_v(Cpu& cpu, M&, const isa::SRI_v& op) {
  const u32 amount = right_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                                 [amount]<class E>(E d, E n) KVRM_LAMBDA { return shift_right_insert(d, n, amount); });
}

// --- left ---

template <class M>
KVRM_INLINE void SHL_v(Cpu& cpu, M&, const isa::SHL_v& op) {
  const u32 amount = left_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return shift_left(n, amount); });
}

template <class M>
KVRM_INLINE void SLI_v(Cpu& cpu, M&, const isa::SLI_v& op) {
  const u32 amount = left_amount(op);
  unary_onto<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                                 [amount]<class E>(E d, E n) KVRM_LAMBDA { return shift_left_insert(d, n, amount); });
}

template <class M>
KVRM_INLINE void SQSHL_imm_v(Cpu& cpu, M&, const isa::SQSHL_imm_v& op) {
  const u32 amount = left_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return saturating_shift_left<true>(n, amount); });
}

template <class M>
KVRM_INLINE void UQSHL_imm_v(Cpu& cpu, M&, const isa::UQSHL_imm_v& op) {
  const u32 amount = left_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return saturating_shift_left<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SQSHLU_v(Cpu& cpu, M&, const isa::SQSHLU_v& op) {
  const u32 amount = left_amount(op);
  unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                            [amount]<class E>(E n) KVRM_LAMBDA { return saturating_shift_left_unsigned(n, amount); });
}

// --- right, to half the width ---

template <class M>
KVRM_INLINE void SHRN_v(Cpu& cpu, M&, const isa::SHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh),
               [amount]<class W>(W n) KVRM_LAMBDA { return static_cast<Narrow<W>>(shift_right<false>(n, amount)); });
}

template <class M>
KVRM_INLINE void RSHRN_v(Cpu& cpu, M&, const isa::RSHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return static_cast<Narrow<W>>(rounding_shift_right<false>(n, amount));
  });
}

template <class M>
KVRM_INLINE void SQSHRN_v(Cpu& cpu, M&, const isa::SQSHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<true, true, false>(n, amount);
  });
}

template <class M>
KVRM_INLINE void SQSHRUN_v(Cpu& cpu, M&, const isa::SQSHRUN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<true, false, false>(n, amount);
  });
}

template <class M>
KVRM_INLINE void UQSHRN_v(Cpu& cpu, M&, const isa::UQSHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<false, false, false>(n, amount);
  });
}

template <class M>
KVRM_INLINE void SQRSHRN_v(Cpu& cpu, M&, const isa::SQRSHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<true, true, true>(n, amount);
  });
}

template <class M>
KVRM_INLINE void SQRSHRUN_v(Cpu& cpu, M&, const isa::SQRSHRUN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<true, false, true>(n, amount);
  });
}

template <class M>
KVRM_INLINE void UQRSHRN_v(Cpu& cpu, M&, const isa::UQRSHRN_v& op) {
  const u32 amount = right_amount(op);
  unary_narrow(cpu, op, shift_scale(op.immh), [amount]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<false, false, true>(n, amount);
  });
}

// --- left, to twice the width ---

template <class M>
KVRM_INLINE void SSHLL_v(Cpu& cpu, M&, const isa::SSHLL_v& op) {
  const u32 amount = left_amount(op);
  unary_long<Size::kB, Size::kS>(cpu, op, shift_scale(op.immh), [amount]<class N>(N n) KVRM_LAMBDA {
    return shift_left(extend_element<true>(n), amount);
  });
}

template <class M>
KVRM_INLINE void USHLL_v(Cpu& cpu, M&, const isa::USHLL_v& op) {
  const u32 amount = left_amount(op);
  unary_long<Size::kB, Size::kS>(cpu, op, shift_scale(op.immh), [amount]<class N>(N n) KVRM_LAMBDA {
    return shift_left(extend_element<false>(n), amount);
  });
}

}  // namespace kvrm::semantics
