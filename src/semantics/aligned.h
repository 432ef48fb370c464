// Alignment of the accesses that require it.
#pragma once

#include "base/cpu.h"

namespace kvrm::semantics {

// These accesses must be aligned to their size; the architecture lets this core fault, and so does QEMU.
template <class T>
KVRM_INLINE Trap check_aligned(Cpu& cpu, u64 address, Access access) {
  if (KVRM_LIKELY((address & (sizeof(T) - 1)) == 0)) return Trap::kNone;
  cpu.fault_address = reported_address(address);
  cpu.fault_access = static_cast<u32>(access);
  return Trap::kAlignment;
}

}  // namespace kvrm::semantics
