// The system registers that EL0 may touch, by op0[0]:op1:CRn:CRm:op2, and the values of the constant ones.
#pragma once

#include "base/types.h"

namespace kvrm::semantics {

// op0 is 2 or 3.
constexpr u16 system_register(u32 op0, u32 op1, u32 crn, u32 crm, u32 op2) {
  return static_cast<u16>((op0 & 1) << 14 | op1 << 11 | crn << 7 | crm << 3 | op2);
}

inline constexpr u16 kNzcv = system_register(3, 3, 4, 2, 0);
inline constexpr u16 kSsbs = system_register(3, 3, 4, 2, 6);
inline constexpr u16 kFpcr = system_register(3, 3, 4, 4, 0);
inline constexpr u16 kFpsr = system_register(3, 3, 4, 4, 1);
inline constexpr u16 kTpidrEl0 = system_register(3, 3, 13, 0, 2);
inline constexpr u16 kTpidrroEl0 = system_register(3, 3, 13, 0, 3);
inline constexpr u16 kCntfrqEl0 = system_register(3, 3, 14, 0, 0);
inline constexpr u16 kCntvctEl0 = system_register(3, 3, 14, 0, 2);
inline constexpr u16 kCtrEl0 = system_register(3, 3, 0, 0, 1);
inline constexpr u16 kDczidEl0 = system_register(3, 3, 0, 0, 7);
inline constexpr u16 kMdccsrEl0 = system_register(2, 3, 0, 1, 0);
inline constexpr u16 kPmuserenrEl0 = system_register(3, 3, 9, 14, 0);

// What survives a write to FPCR (Len and Stride are stored, though they mean nothing here) and to FPSR.
inline constexpr u32 kFpcrMask = 0x07ff0000;
inline constexpr u32 kFpsrMask = 0xf800009f;
inline constexpr u32 kSsbsShift = 12;

// 62.5 MHz: one tick is 16 ns.
inline constexpr u64 kCounterFrequency = 62'500'000;
inline constexpr u64 kNanosecondsPerTick = 16;

// The block DC ZVA clears: 4 << 4 bytes.
inline constexpr u64 kZvaLog2Words = 4;
inline constexpr u64 kZvaBytes = 4u << kZvaLog2Words;

struct ConstantRegister {
  bool exists;
  u64 value;
};

// The identification registers Linux emulates for EL0: the AArch64 feature block (op1 = 0, CRn = 0, CRm = 4..7) reads
// as the features user programs may see, zero where nothing is said; beside it MIDR, MPIDR and REVIDR.
constexpr ConstantRegister constant_register(u16 reg) {
  switch (reg) {
    case kCtrEl0: return {true, 0x8444c004};
    case kDczidEl0: return {true, kZvaLog2Words};
    case kCntfrqEl0: return {true, kCounterFrequency};
    case kMdccsrEl0: return {true, 0};
    case kPmuserenrEl0: return {true, 0};
    case system_register(3, 0, 0, 0, 0): return {true, 0x414fd0c1};       // MIDR_EL1: Neoverse N1 r4p1
    case system_register(3, 0, 0, 0, 5): return {true, 0x80000000};       // MPIDR_EL1
    case system_register(3, 0, 0, 0, 6): return {true, 0};                // REVIDR_EL1
    case system_register(3, 0, 0, 4, 0): return {true, 0x110011};         // ID_AA64PFR0_EL1
    case system_register(3, 0, 0, 4, 1): return {true, 0x20};             // ID_AA64PFR1_EL1
    case system_register(3, 0, 0, 5, 0): return {true, 0x6};              // ID_AA64DFR0_EL1
    case system_register(3, 0, 0, 6, 0): return {true, 0x100010211120};   // ID_AA64ISAR0_EL1
    case system_register(3, 0, 0, 6, 1): return {true, 0x100001};         // ID_AA64ISAR1_EL1
    case system_register(3, 0, 0, 7, 0): return {true, 0xff000000};       // ID_AA64MMFR0_EL1
    default: break;
  }
  return {reg >= system_register(3, 0, 0, 4, 0) && reg <= system_register(3, 0, 0, 7, 7), 0};
}

}  // namespace kvrm::semantics
