// Prefetch: a hint about an address, which changes nothing here and never faults.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void PRFM_lit(Cpu&, M&, const isa::PRFM_lit&) {}

template <class M>
KVRM_INLINE void PRFUM(Cpu&, M&, const isa::PRFUM&) {}

template <class M>
KVRM_INLINE void PRFM_reg(Cpu&, M&, const isa::PRFM_reg&) {}

template <class M>
KVRM_INLINE void PRFM_imm(Cpu&, M&, const isa::PRFM_imm&) {}

}  // namespace kvrm::semantics
