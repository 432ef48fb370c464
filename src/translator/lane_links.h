// What code of a region on a GPU needs beside the registers. Freestanding: the bitcode of the rows is built from this.
#pragma once

#include "memory/lane_memory.h"

namespace kvrm::translator {

// A region's own copy, or several; the stitcher keeps them in SSA values.
struct LaneLinks {
  memory::KnownPages* pages;  // the lane's, in shared memory
  // The page that was accessed last through these links: its address, or what no address is where it is not for
  // reading, or not for writing; and where it is.
  u64 readable, writable, page;
  // Constants: 1 in regions for lanes that are alone in their group, and where the recent pages are looked at in place.
  u64 alone, in_place;
};

// In shared memory on a GPU, which the compiler cannot know where it is not told.
#if defined(__NVPTX__)
using SharedPages = __attribute__((address_space(3))) memory::KnownPages;
#else
using SharedPages = memory::KnownPages;
#endif

// What compilers and copying loops do: pairs of four bytes at any multiple of four, and words loaded from anywhere.
template <u32 kSize>
KVRM_INLINE bool may_lie_across(u64 address, Access access) {
  return access == Access::kRead ? kSize % 8 == 0 && kSize <= 32 : kSize == 8 && address % 4 == 0;
}

// Of a LaneTranslation's tag. Without the one that does not matter, a page's tag is its address if the access is
// allowed, and no address otherwise.
inline constexpr u64 kNoRead = 1, kNoWrite = 2;

// A page that is not where the region looked for it: among the recent ones, which accesses that lie across words need
// to be told, or among all that the lane knows. With kNoLanePage for a tag the access cannot be done here, and `page`
// is the trap. Called: in its place it would be most of a region's code, and what warps run would not fit into a
// multiprocessor's caches.
template <u32 kSize, Access kAccess, bool kAlone>
KVRM_COLD memory::LaneTranslation find_page(SharedPages* shared, u64 address) {
  struct Bytes {
    u8 of[kSize];
  };
  constexpr u64 kGeneration = u64{0xff} << 56;
  constexpr u64 kAsked = memory::kTagMask | (kAccess == Access::kRead ? kNoRead : kNoWrite);
  auto* const pages = (memory::KnownPages*)shared;
  const u64 wanted = address & memory::kTagMask;
  const bool is_misfit = memory::detail::misfit<Bytes>(address) != 0;
  if ((is_misfit && !may_lie_across<kSize>(address, kAccess)) ||
      (address & (memory::kPageSize - 1)) > memory::kPageSize - kSize) {
    return {memory::kNoLanePage, static_cast<u64>(Trap::kNotHere)};
  }
  memory::LaneTranslation& slot = pages->recent_slot<kAlone>(address);
  memory::LaneTranslation found = slot;
  if (((found.tag ^ wanted) & kAsked) != 0) {
    const memory::LaneTranslation& far = pages->far_slot(address);
    found = {memory::load_global<u64>(reinterpret_cast<const u8*>(&far.tag)),
             memory::load_global<u64>(reinterpret_cast<const u8*>(&far.page))};
    if (((found.tag ^ pages->far_tag(wanted)) & (kAsked | kGeneration)) != 0) {
      return {memory::kNoLanePage, static_cast<u64>(Trap::kNotRecent)};
    }
    found.tag &= ~kGeneration;
    slot = found;
  }
  return found;
}

// A word that lies across two.
inline KVRM_COLD u64 load_across(u64 page, u64 offset) { return memory::detail::get_across(page, offset); }
inline KVRM_COLD void store_halves(u64 page, u64 offset, u64 value) { memory::detail::put_halves(page, offset, value); }

// The memory of a lane inside a region: the page of the last access, the recent ones, and those that the lane knows. An
// access to any other page, and most that do not fit into words, leave the region with the instruction not done. The
// entries of recent pages are right as long as the map does not change, and nothing in a region changes it.
struct LinkedLaneMemory {
  LaneLinks* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    const u64 offset = address & (memory::kPageSize - 1), misfit = memory::detail::misfit<T>(address);
    if (KVRM_UNLIKELY((is_other(address, links->readable) | misfit) != 0)) {
      const Trap trap = find<T, Access::kRead>(cpu, address);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) % 8 == 0 && sizeof(T) <= 32) {
        if (misfit != 0) {
          memory::detail::Words<T> words;
#pragma GCC unroll 4
          for (u32 i = 0; i < sizeof(T) / 8; ++i) words.words[i] = load_across(page(), offset + u64{i} * 8);
          value = __builtin_bit_cast(T, words);
          return Trap::kNone;
        }
      }
    }
    value = memory::detail::get<T>(page(), offset);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    const u64 offset = address & (memory::kPageSize - 1), misfit = memory::detail::misfit<T>(address);
    if (KVRM_UNLIKELY((is_other(address, links->writable) | misfit) != 0)) {
      const Trap trap = find<T, Access::kWrite>(cpu, address);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) == 8) {
        if (misfit != 0) {
          store_halves(page(), offset, __builtin_bit_cast(u64, value));
          return Trap::kNone;
        }
      }
    }
    memory::detail::put<T>(page(), offset, value);
    return Trap::kNone;
  }

  // Pages that several lanes see are never among the recent ones.
  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    if (KVRM_UNLIKELY(memory::detail::misfit<T>(address) != 0)) return Trap::kNotHere;
    const Trap trap = find<T, Access::kWrite>(cpu, address);
    if (KVRM_UNLIKELY(trap != Trap::kNone)) return trap;
    if (KVRM_UNLIKELY((links->readable & kNoRead) != 0)) return Trap::kNotHere;
    observed = memory::detail::get<T>(page(), address & (memory::kPageSize - 1));
    if (observed == expected) memory::detail::put<T>(page(), address & (memory::kPageSize - 1), desired);
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {}

 private:
  KVRM_INLINE u64 page() const {
    if (links->alone && (links->page & 7) != 0) __builtin_unreachable();
    return links->page;
  }

  // Not zero: the address lies in another page.
  static KVRM_INLINE u64 is_other(u64 address, u64 page) { return (address & memory::kTagMask) ^ page; }

  template <class T, Access kAccess>
  KVRM_INLINE Trap find(Cpu& cpu, u64 address) {
    constexpr u64 kAsked = memory::kTagMask | (kAccess == Access::kRead ? kNoRead : kNoWrite);
    const u64 wanted = address & memory::kTagMask;
    memory::LaneTranslation found{memory::kNoLanePage, 0};
    if (links->in_place) found = recent(address);
    if (!links->in_place || (((found.tag ^ wanted) & kAsked) | memory::detail::misfit<T>(address)) != 0) {
      auto* const pages = (SharedPages*)links->pages;
      found = links->alone ? find_page<sizeof(T), kAccess, true>(pages, address)
                           : find_page<sizeof(T), kAccess, false>(pages, address);
      if (KVRM_UNLIKELY(found.tag == memory::kNoLanePage)) {
        cpu.fault_address = address;
        cpu.fault_access = static_cast<u32>(kAccess);
        if (found.page == static_cast<u64>(Trap::kNone)) __builtin_unreachable();
        return static_cast<Trap>(found.page);
      }
    }
    links->readable = found.tag & ~kNoWrite;
    links->writable = found.tag & ~kNoRead;
    links->page = found.page;
    return Trap::kNone;
  }

  KVRM_INLINE memory::LaneTranslation recent(u64 address) const {
    const memory::LaneTranslation& slot =
        links->alone ? links->pages->recent_slot<true>(address) : links->pages->recent_slot<false>(address);
#if defined(__NVPTX__)
    const auto* const at = (const __attribute__((address_space(3))) memory::LaneTranslation*)&slot;
    return {at->tag, at->page};
#else
    return slot;
#endif
  }
};

}  // namespace kvrm::translator
