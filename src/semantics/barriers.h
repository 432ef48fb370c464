// Barriers and CLREX.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void CLREX(Cpu& cpu, M&, const isa::CLREX&) {
  cpu.exclusive_size = 0;
}

template <class M>
KVRM_INLINE void DSB(Cpu&, M& memory, const isa::DSB&) {
  memory.fence();
}

template <class M>
KVRM_INLINE void DMB(Cpu&, M& memory, const isa::DMB&) {
  memory.fence();
}

template <class M>
KVRM_INLINE void ISB(Cpu&, M& memory, const isa::ISB&) {
  memory.fence();
}

}  // namespace kvrm::semantics
