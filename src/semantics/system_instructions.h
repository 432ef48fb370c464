// System instructions that EL0 may use: DC ZVA, and cache maintenance, which has nothing to do here because decoded
// code is dropped as soon as its page is written.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"
#include "semantics/system_registers.h"

namespace kvrm::semantics {

constexpr u16 system_instruction(u32 op1, u32 crn, u32 crm, u32 op2) {
  return static_cast<u16>(op1 << 11 | crn << 7 | crm << 3 | op2);
}

inline constexpr u16 kDcZva = system_instruction(3, 7, 4, 1);
inline constexpr u16 kIcIvau = system_instruction(3, 7, 5, 1);
inline constexpr u16 kDcCvac = system_instruction(3, 7, 10, 1);
inline constexpr u16 kDcCvau = system_instruction(3, 7, 11, 1);
inline constexpr u16 kDcCvap = system_instruction(3, 7, 12, 1);
inline constexpr u16 kDcCivac = system_instruction(3, 7, 14, 1);

struct ZvaBlock {
  u64 words[kZvaBytes / 8];
};

template <class M>
KVRM_INLINE Trap SYS(Cpu& cpu, M& memory, const isa::SYS& op) {
  switch (op.sysop) {
    case kDcZva: return memory.store(cpu, cpu.x[op.Rt] & ~(kZvaBytes - 1), ZvaBlock{});
    case kIcIvau:
    case kDcCvac:
    case kDcCvau:
    case kDcCvap:
    case kDcCivac: return Trap::kNone;
    default: return Trap::kUndefined;
  }
}

}  // namespace kvrm::semantics
