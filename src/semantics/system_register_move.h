// Moves to and from system registers. What EL0 may not touch is Undefined.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"
#include "semantics/system_registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE Trap MRS(Cpu& cpu, M&, const isa::MRS& op) {
  u64 value = 0;
  switch (op.sysreg) {
    case kNzcv: value = pack_nzcv(cpu); break;
    case kSsbs: value = u64{cpu.ssbs} << kSsbsShift; break;
    case kFpcr: value = cpu.fpcr; break;
    case kFpsr: value = cpu.fpsr; break;
    case kTpidrEl0: value = cpu.tpidr_el0; break;
    case kTpidrroEl0: value = cpu.tpidrro_el0; break;
    case kCntvctEl0: value = cpu.clock_ns / kNanosecondsPerTick; break;
    default: {
      const ConstantRegister constant = constant_register(op.sysreg);
      if (!constant.exists) return Trap::kUndefined;
      value = constant.value;
    }
  }
  write(cpu, op.Rt, value);
  return Trap::kNone;
}

// Whether it shows the lane's clock, which its driver must have brought up to date.
constexpr bool reads_clock(const isa::MRS& op) { return op.sysreg == kCntvctEl0; }

template <class M>
KVRM_INLINE Trap MSR_reg(Cpu& cpu, M&, const isa::MSR_reg& op) {
  const u64 value = cpu.x[op.Rt];
  switch (op.sysreg) {
    case kNzcv: unpack_nzcv(cpu, static_cast<u32>(value)); break;
    case kSsbs: cpu.ssbs = value >> kSsbsShift & 1; break;
    case kFpcr: cpu.fpcr = static_cast<u32>(value) & kFpcrMask; break;
    case kFpsr: cpu.fpsr = static_cast<u32>(value) & kFpsrMask; break;
    case kTpidrEl0: cpu.tpidr_el0 = value; break;
    default: return Trap::kUndefined;
  }
  return Trap::kNone;
}

template <class M>
KVRM_INLINE void MSR_SSBS(Cpu& cpu, M&, const isa::MSR_SSBS& op) {
  cpu.ssbs = op.CRm & 1;
}

}  // namespace kvrm::semantics
