// The paged policy: a direct-mapped TLB in front of the page tables.
#pragma once

#include "memory/freestanding/policy.h"

namespace kvrm::memory {

// One cached page. A tag is the page's address, or kNoPage; an address with a tag of its own (TBI) never matches and
// takes the slow path. Write permission in the cache means: private, writable, and holding no decoded code, so that a
// store needs no further question. A power of two in size, and an addend instead of a pointer: translated code
// does little else than this lookup.
struct TlbEntry {
  u64 read_tag;
  u64 write_tag;
  u64 host_addend;  // guest address + host_addend = host address
  u64 unused;
};
static_assert(sizeof(TlbEntry) == 32);

inline constexpr u64 kNoPage = 1;  // no page address has its lowest bit set
// Part of the tags of pages that several lanes see: code that does not know of them, and would access them as private
// pages, misses.
inline constexpr u64 kSharedPage = 2;
inline constexpr u32 kTlbEntries = 4096;  // 16 MiB
inline constexpr u64 kPageMask = ~((u64{1} << kPageShift) - 1);

class CodeListener;

struct Tlb {
  static constexpr u32 kEntryShift = 5;
  static constexpr u32 kGuesses = 256;
  TlbEntry entries[kTlbEntries];
  // Of a lane that shares its memory with others: its code must be checked again when that changes. Such a lane has
  // only shared pages here. Null: the lane is alone with its memory.
  CodeListener* shares_memory = nullptr;
  u64 code_version = 0;  // of a shared memory, at the lane's last check
  // Host addends that translated code found lately: it begins an access with such a guess.
  u64 guesses[kGuesses] = {};

  // Counted in bytes, so that a compiler sees one shift and one mask.
  KVRM_INLINE TlbEntry& at(u64 address) {
    static_assert(sizeof(TlbEntry) == 1 << kEntryShift);
    const u64 offset = address >> (kPageShift - kEntryShift) & (u64{kTlbEntries - 1} << kEntryShift);
    return *reinterpret_cast<TlbEntry*>(reinterpret_cast<u8*>(entries) + offset);
  }
  void set(u64 address, bool read, bool write, const u8* page) {
    const u64 tag = reported_address(address) & kPageMask;
    at(address) = {read ? tag : kNoPage, write ? tag : kNoPage, reinterpret_cast<u64>(page) - tag, 0};
  }
  void set_shared(u64 address, bool read, bool write, const u8* page) {
    const u64 tag = reported_address(address) & kPageMask;
    at(address) = {read ? tag | kSharedPage : kNoPage, write ? tag | kSharedPage : kNoPage,
                   reinterpret_cast<u64>(page) - tag, 0};
  }
  // The host page is not written through any entry from now on.
  void forbid_writes(const u8* page) {
    for (TlbEntry& entry : entries)
      if (entry.write_tag + entry.host_addend == reinterpret_cast<u64>(page)) entry.write_tag = kNoPage;
  }
  void forget(u64 address) { at(address) = {kNoPage, kNoPage, 0, 0}; }
  void clear() {
    for (TlbEntry& entry : entries) entry = {kNoPage, kNoPage, 0, 0};
  }
};

// The page of the access's last byte. An access that crosses into the next page can never match the TLB entry of its
// first: neighboring pages have different entries.
template <class T>
KVRM_INLINE u64 last_page(u64 address) {
  return (address + sizeof(T) - 1) & kPageMask;
}
KVRM_INLINE u8* host_bytes(const TlbEntry& entry, u64 address) {
  return reinterpret_cast<u8*>(address + entry.host_addend);
}

// What the slow path answers: the trap and, unless it is kNone, the address of the first byte that may not be
// accessed.
struct SlowAccess {
  Trap trap;
  u64 fault_address;
};

// Backing offers
//   SlowAccess read_slow(Tlb& cache, u64 address, void* to, u32 size)
//   SlowAccess write_slow(Tlb& cache, u64 address, const void* from, u32 size)
//   SlowAccess exchange_slow(Tlb& cache, u64 address, const void* expected, const void* desired,
//                            void* observed, u32 size)
// which do the whole access, page crossings included, and fill the cache; and
//   void fence_slow(Tlb& cache)
// for a lane that shares its memory with others.
template <class Backing>
struct Paged {
  Tlb* cache;
  Backing* backing;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    const TlbEntry& entry = cache->at(address);
    if (KVRM_LIKELY(last_page<T>(address) == entry.read_tag)) {
      __builtin_memcpy(&value, host_bytes(entry, address), sizeof(T));
      return Trap::kNone;
    }
    T copy;
    const SlowAccess slow = backing->read_slow(*cache, address, &copy, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kRead);
    value = copy;
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    const TlbEntry& entry = cache->at(address);
    if (KVRM_LIKELY(last_page<T>(address) == entry.write_tag)) {
      __builtin_memcpy(host_bytes(entry, address), &value, sizeof(T));
      return Trap::kNone;
    }
    const T copy = value;
    const SlowAccess slow = backing->write_slow(*cache, address, &copy, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kWrite);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    const TlbEntry& entry = cache->at(address);
    if (KVRM_LIKELY(last_page<T>(address) == entry.write_tag && entry.read_tag == entry.write_tag)) {
      u8* bytes = host_bytes(entry, address);
      __builtin_memcpy(&observed, bytes, sizeof(T));
      if (observed == expected) __builtin_memcpy(bytes, &desired, sizeof(T));
      return Trap::kNone;
    }
    const T wanted = expected;
    const T replacement = desired;
    T seen;
    const SlowAccess slow = backing->exchange_slow(*cache, address, &wanted, &replacement, &seen, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kWrite);
    observed = seen;
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {
    if (KVRM_UNLIKELY(cache->shares_memory != nullptr)) backing->fence_slow(*cache);
  }
};

}  // namespace kvrm::memory
