// What all branches share: where they go. A branch function writes cpu.pc in every case.
#pragma once

#include "semantics/registers.h"

namespace kvrm::semantics {

inline constexpr u64 kInstructionBytes = 4;

KVRM_INLINE void branch_by(Cpu& cpu, i32 words) { cpu.pc += static_cast<u64>(i64{words} * i64{kInstructionBytes}); }

KVRM_INLINE void branch_if(Cpu& cpu, bool taken, i32 words) {
  cpu.pc += taken ? static_cast<u64>(i64{words} * i64{kInstructionBytes}) : kInstructionBytes;
}

// A jump to an address from a register drops the tag: the top byte becomes copies of bit 55 (TBI).
KVRM_INLINE void branch_to(Cpu& cpu, u64 target) { cpu.pc = sign_extend(target, 56); }

}  // namespace kvrm::semantics
