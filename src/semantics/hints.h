// Hints. NOP, YIELD, WFE and the rest change nothing a program can see; BTI and the pointer authentication
// hints do nothing on a machine without those features.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void HINT(Cpu&, M&, const isa::HINT&) {}

}  // namespace kvrm::semantics
