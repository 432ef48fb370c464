// What code of a region on a GPU needs beside the registers. Freestanding: the bitcode of the rows is built from this.
#pragma once

#include "memory/lane_memory.h"

namespace kvrm::translator {

// A region's own copy, or several; the stitcher keeps them in SSA values.
struct LaneLinks {
  memory::KnownPages* pages;  // the lane's, in shared memory
  // The page that was accessed last through these links: its address, or kNoLanePage where it is not for reading, or
  // not for writing; and where it is.
  u64 readable, writable, page;
  u64 alone;  // a constant: 1 in regions for lanes that are alone in their group
};

// The memory of a lane inside a region: the page of the last access, the recent ones, and those that the lane knows. An
// access to any other page, and most that do not fit into words, leave the region with the instruction not done. The
// entries of recent pages are right as long as the map does not change, and nothing in a region changes it.
struct LinkedLaneMemory {
  LaneLinks* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    const u64 offset = address & (memory::kPageSize - 1), misfit = memory::detail::misfit<T>(address);
    if (KVRM_UNLIKELY((is_other(address, links->readable) | misfit) != 0)) {
      const Trap trap = find<T>(cpu, address, Access::kRead, kNoRead);
      if (trap != Trap::kNone) return trap;
      if constexpr (kLoadsAcross<T>) {
        if (misfit != 0) {
          value = memory::detail::get_words_across<T>(page(), offset);
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
      const Trap trap = find<T>(cpu, address, Access::kWrite, kNoWrite);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) == 8) {
        if (misfit != 0) {
          memory::detail::put_halves(page(), offset, __builtin_bit_cast(u64, value));
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
    const Trap trap = find<T>(cpu, address, Access::kWrite, kNoRead | kNoWrite);
    if (KVRM_UNLIKELY(trap != Trap::kNone)) return trap;
    observed = memory::detail::get<T>(page(), address & (memory::kPageSize - 1));
    if (observed == expected) memory::detail::put<T>(page(), address & (memory::kPageSize - 1), desired);
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {}

 private:
  // Of a LaneTranslation's tag.
  static constexpr u64 kNoRead = 1, kNoWrite = 2;
  static constexpr u64 kGeneration = u64{0xff} << 56;

  KVRM_INLINE u64 page() const {
    if (links->alone && (links->page & 7) != 0) __builtin_unreachable();
    return links->page;
  }

  // What compilers and copying loops do: pairs of four bytes at any multiple of four, and words loaded from anywhere.
  // More would make each access of a region longer.
  template <class T>
  static constexpr bool kLoadsAcross = sizeof(T) % 8 == 0 && sizeof(T) <= 32;
  template <class T>
  static KVRM_INLINE bool may_lie_across(u64 address, Access access) {
    return access == Access::kRead ? kLoadsAcross<T> : sizeof(T) == 8 && address % 4 == 0;
  }

  // Not zero: the address lies in another page.
  static KVRM_INLINE u64 is_other(u64 address, u64 page) { return (address & memory::kTagMask) ^ page; }

  template <class T>
  KVRM_INLINE Trap find(Cpu& cpu, u64 address, Access access, u64 forbidden) {
    const u64 wanted = address & memory::kTagMask;
    const u64 asked = memory::kTagMask | forbidden;
    if (!may_lie_across<T>(address, access) && memory::detail::misfit<T>(address) != 0) return Trap::kNotHere;
    if ((address & (memory::kPageSize - 1)) > memory::kPageSize - sizeof(T)) return Trap::kNotHere;
    memory::LaneTranslation& slot =
        links->alone ? links->pages->recent_slot<true>(address) : links->pages->recent_slot<false>(address);
    memory::LaneTranslation found = shared(slot);
    if (KVRM_UNLIKELY(((found.tag ^ wanted) & asked) != 0)) {
      const memory::LaneTranslation& far = links->pages->far_slot(address);
      found = {memory::load_global<u64>(reinterpret_cast<const u8*>(&far.tag)),
               memory::load_global<u64>(reinterpret_cast<const u8*>(&far.page))};
      if (((found.tag ^ links->pages->far_tag(wanted)) & (asked | kGeneration)) != 0) {
        cpu.fault_address = address;
        cpu.fault_access = static_cast<u32>(access);
        return Trap::kNotRecent;
      }
      found.tag &= ~kGeneration;
      slot = found;
    }
    links->readable = found.tag & kNoRead ? memory::kNoLanePage : wanted;
    links->writable = found.tag & kNoWrite ? memory::kNoLanePage : wanted;
    links->page = found.page;
    return Trap::kNone;
  }

  static KVRM_INLINE memory::LaneTranslation shared(const memory::LaneTranslation& slot) {
#if defined(__NVPTX__)
    const auto* const at = (const __attribute__((address_space(3))) memory::LaneTranslation*)&slot;
    return {at->tag, at->page};
#else
    return slot;
#endif
  }
};

}  // namespace kvrm::translator
