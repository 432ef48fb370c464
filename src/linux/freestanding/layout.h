// Where things are in a guest process. Fixed and the same in every run: nothing here is random, so a run
// can be repeated to the last address.
//
//   0x10000 ..          ET_EXEC programs where they were linked
//   0x55'0000'0000 ..   static-PIE programs (qemu-aarch64 chooses the same base), brk right after the image
//   .. kMmapTop         mmap, from the top down
//   kStackBottom ..     the 8 MiB stack, a guard below it that mmap never hands out
//   kTrampoline         one page of code that returns from signal handlers (Linux keeps it in the vDSO)
#pragma once

#include "base/types.h"
#include "memory/freestanding/page.h"

namespace kvrm::linux_abi {

inline constexpr u64 kLowestAddress = 0x10000;  // vm.mmap_min_addr
inline constexpr u64 kPieBase = 0x55'0000'0000;
inline constexpr u64 kStackTop = 0x7f'ffff'f000;  // everything fits a 39-bit address space
inline constexpr u64 kStackSize = 8 << 20;
inline constexpr u64 kStackBottom = kStackTop - kStackSize;
inline constexpr u64 kStackGuard = 1 << 20;
inline constexpr u64 kMmapTop = kStackBottom - kStackGuard;
inline constexpr u64 kTrampoline = kStackTop;

inline constexpr u64 page_down(u64 address) { return address & ~(memory::kPageSize - 1); }
// Only for addresses at or below kAddressLimit: it would wrap at the end of 64 bits.
inline constexpr u64 page_up(u64 address) { return page_down(address + memory::kPageSize - 1); }

}  // namespace kvrm::linux_abi
