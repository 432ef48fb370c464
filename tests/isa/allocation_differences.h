// Where our table and LLVM's AArch64 disassembler (-mcpu=neoverse-n1) disagree on purpose about which words are
// instructions. allocation_test fails on every difference that no rule here covers, and on a rule that covers none.
// LLVM disassembles for every exception level; we are EL0, where qemu-aarch64 -cpu neoverse-n1 raises SIGILL for
// all of these. The reverse kind, words that only we accept, does not exist.
#pragma once

#include "base/types.h"

namespace kvrm::test {

// LLVM accepts words with `bits` under `mask` and we do not.
struct LlvmOnly {
  u32 mask, bits;
  const char* reason;
};

inline constexpr LlvmOnly kLlvmOnly[] = {
    // Exceptions to, and returns from, levels that a user program cannot reach.
    {0xffe0001f, 0xd4000002, "HVC: undefined at EL0"},
    {0xffe0001f, 0xd4000003, "SMC: undefined at EL0"},
    {0xffe0001f, 0xd4a00001, "DCPS1: undefined outside debug state"},
    {0xffe0001f, 0xd4a00002, "DCPS2: undefined outside debug state"},
    {0xffe0001f, 0xd4a00003, "DCPS3: undefined outside debug state"},
    {0xffffffff, 0xd69f03e0, "ERET: undefined at EL0"},
    {0xffffffff, 0xd6bf03e0, "DRPS: undefined outside debug state"},

    // System instruction space with op0 = 0. We have rows for what EL0 may use: hints, barriers and MSR SSBS.
    {0xfff80000, 0xd5000000,
     "MSR (immediate) to PSTATE fields of EL1 or of later architectures, and unallocated words that LLVM prints as "
     "moves to a register S0_..."},
    {0xfff80000, 0xd5200000, "unallocated (MRS needs op0 = 2 or 3); LLVM prints a move from a register S0_..."},
    {0xfff80000, 0xd5280000, "SYSL: no operation of this machine returns a value"},
};

}  // namespace kvrm::test
