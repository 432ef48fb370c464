// Entries of an address space's page tables: the page's host address with flags in its low bits.
#pragma once

#include "base/types.h"
#include "memory/freestanding/page.h"

namespace kvrm::memory {

// kPageRead, kPageWrite and kPageExecute have Protection's values.
inline constexpr u64 kPageRead = kRead;
inline constexpr u64 kPageWrite = kWrite;
inline constexpr u64 kPageExecute = kExecute;
inline constexpr u64 kPagePrivate = 8;  // a frame of ours; otherwise shared bytes that must be copied before a write
inline constexpr u64 kPagePresent = 16;
inline constexpr u64 kPageInPlace = 32;  // shared bytes that are written where they are
inline constexpr u64 kPageShown = 64;    // the window has all the rights that the TLB would give
inline constexpr u64 kPageOwn = kPagePrivate | kPageInPlace;
inline constexpr u64 kPageFlags = kPageSize - 1;
inline constexpr u64 kPermissions = kPageRead | kPageWrite | kPageExecute;

alignas(kPageSize) inline constexpr u8 kZeros[kPageSize] = {};

inline u8* page_of(u64 entry) { return reinterpret_cast<u8*>(entry & ~kPageFlags); }
inline u64 entry_of(const u8* page, u64 flags) { return reinterpret_cast<u64>(page) | flags; }
inline u64 page_base(u64 address) { return address & ~(kPageSize - 1); }
inline u64 page_offset(u64 address) { return address & (kPageSize - 1); }
// Whether a store needs no further check, unless the page holds decoded code: it is private and may be written.
inline bool is_writable(u64 entry) { return (entry & kPageWrite) != 0 && (entry & kPageOwn) != 0; }

}  // namespace kvrm::memory
