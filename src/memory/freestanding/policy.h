// What semantics ask of a memory. A policy is a class with these members (no base class: everything is
// inlined, and the GPU has no virtual calls):
//
//   Trap load<T>(Cpu& cpu, u64 address, T& value)          reads sizeof(T) bytes, little endian
//   Trap store<T>(Cpu& cpu, u64 address, const T& value)
//   Trap compare_exchange<T>(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed)
//   void fence()                                           orders accesses before it against those after
//
// An access checks every byte it touches before it reads or writes any; one that may not happen changes
// nothing but cpu.fault_address and cpu.fault_access, and says why. T is any plain struct, so one contiguous
// access (LDP, LD4, DC ZVA) is one call. compare_exchange needs permission to write even if it fails.
#pragma once

#include "base/cpu.h"
#include "base/types.h"

namespace kvrm::memory {

inline constexpr u32 kPageShift = 12;

inline constexpr u64 kUntagged = kUntaggedAddress;

KVRM_INLINE Trap memory_trap(Cpu& cpu, Trap trap, u64 address, Access access) {
  cpu.fault_address = reported_address(address);
  cpu.fault_access = static_cast<u32>(access);
  return trap;
}

}  // namespace kvrm::memory
