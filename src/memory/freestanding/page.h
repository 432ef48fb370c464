// Pages, the size of the address space, and what may be done with a page. Freestanding.
#pragma once

#include "base/types.h"

namespace kvrm::memory {

inline constexpr u64 kPageSize = 4096;
inline constexpr u64 kAddressBits = 48;
inline constexpr u64 kAddressLimit = u64{1} << kAddressBits;

enum Protection : u32 { kNoAccess = 0, kRead = 1, kWrite = 2, kExecute = 4 };

// What a mapping was made from, as the system-call layer remembers it: memory keeps it with the mapping, splits it
// where the mapping is split, and makes nothing of it.
struct Backing {
  u32 flags = 0;   // of AreaFlag: kAreaShared, kAreaBacked, kAreaReadOnly
  u64 id = 0;      // with kAreaBacked: which file or segment
  u64 offset = 0;  // with kAreaBacked: where in it the mapping begins
};

// Addresses and sizes of whole pages inside the address space, and not empty.
constexpr bool valid_range(u64 address, u64 size) {
  return address % kPageSize == 0 && size % kPageSize == 0 && size != 0 && address < kAddressLimit &&
         size <= kAddressLimit - address;
}

}  // namespace kvrm::memory
