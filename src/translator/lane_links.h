// What code of a region on a GPU needs beside the registers. Freestanding: the bitcode of the rows is built from this.
#pragma once

#include <stddef.h>

#include "memory/lane_memory.h"

namespace kvrm::translator {

// A region's own copy, or several; the stitcher keeps them in SSA values.
struct LaneLinks {
  memory::KnownPages* pages;  // the lane's, in shared memory
  // The page that was accessed last through these links: its address, or what no address is where it is not for
  // reading, or not for writing; and where it is.
  u64 readable, writable, page;
  // Constants: 1 in regions for lanes that are alone in their group, where the recent pages are looked at in place, for
  // lanes that have one memory, and where the last page is not remembered: then every access looks at the recent ones.
  // gives_up: with that, an access to any other page, or one that does not fit into words, leaves the region.
  u64 alone, in_place, common, forgets, gives_up;
};

// In shared memory on a GPU, which the compiler cannot know where it is not told.
#if defined(__NVPTX__)
using SharedPages = __attribute__((address_space(3))) memory::KnownPages;
#else
using SharedPages = memory::KnownPages;
#endif

template <class T>
using Pieces = memory::CommonPieces<T>;

// What compilers and copying loops do: pairs of four bytes at any multiple of four, and words loaded from anywhere.
template <u32 kSize>
KVRM_INLINE bool may_lie_across(u64 address, Access access) {
  return access == Access::kRead ? kSize % 8 == 0 && kSize <= 32 : kSize == 8 && address % 4 == 0;
}

// The bit of a LaneTranslation's tag that forbids an access. Without the others, a page's tag is its address if the
// access is allowed, and no address otherwise.
template <Access kAccess>
KVRM_INLINE constexpr u64 forbidding(bool common) {
  if (common) return kAccess == Access::kRead ? memory::kNoCommonRead : memory::kNoCommonWrite;
  return kAccess == Access::kRead ? memory::kNoRead : memory::kNoWrite;
}

// What a region's code has of a lane: the kernel's view of it (KVRM_VECTORS_ELSEWHERE).
using RegionLane = memory::BasicResidentLane<BasicCpu<U128*>>;

// Trap::kNotHere or kNotRecent, as a number of which a compiler knows that it is not 0.
KVRM_INLINE Trap trap_of(u64 number) {
  constexpr u32 kBoth = static_cast<u32>(Trap::kNotHere) & static_cast<u32>(Trap::kNotRecent);
  static_assert(kBoth != 0);
  return static_cast<Trap>(static_cast<u32>(number) | kBoth);
}

// A page that is not where the region looked for it: among the recent ones, which accesses that lie across words need
// to be told, or among all that the lane knows. With kNoLanePage for a tag the access cannot be done here, and `page`
// is the trap. Called: in its place it would be most of a region's code, and what warps run would not fit into a
// multiprocessor's caches.
template <u32 kSize, Access kAccess, bool kAlone, bool kCommon>
KVRM_INLINE memory::LaneTranslation look_for_page(SharedPages* shared, u64 address) {
  struct Bytes {
    u8 of[kSize];
  };
  constexpr u64 kGeneration = u64{0xff} << 56;
  constexpr u64 kAsked = memory::kTagMask | forbidding<kAccess>(kCommon);
  auto* const pages = (memory::KnownPages*)shared;
  const u64 wanted = address & memory::kTagMask;
  const bool is_misfit = memory::detail::misfit<Bytes>(address) != 0;
  if ((is_misfit && (kCommon || !may_lie_across<kSize>(address, kAccess))) ||
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
      auto* const lane = reinterpret_cast<RegionLane*>(reinterpret_cast<u8*>(pages) - offsetof(RegionLane, pages));
      lane->cpu.fault_address = address;
      lane->cpu.fault_access = static_cast<u32>(kAccess);
      return {memory::kNoLanePage, static_cast<u64>(Trap::kNotRecent)};
    }
    found.tag &= ~kGeneration;
    slot = found;
  }
  return found;
}
template <u32 kSize, Access kAccess, bool kAlone, bool kCommon>
KVRM_COLD memory::LaneTranslation find_page(SharedPages* shared, u64 address) {
  return look_for_page<kSize, kAccess, kAlone, kCommon>(shared, address);
}
// The same for lanes that are alone, in one word: the page, or the trap and this bit.
inline constexpr u64 kIsTrap = u64{1} << 63;
template <u32 kSize, Access kAccess>
KVRM_COLD u64 find_lone_page(SharedPages* shared, u64 address) {
  const memory::LaneTranslation found = look_for_page<kSize, kAccess, true, false>(shared, address);
  return found.tag == memory::kNoLanePage ? found.page | kIsTrap : found.page;
}

// A word that lies across two.
inline KVRM_COLD u64 load_across(u64 page, u64 offset) { return memory::detail::get_across(page, offset); }
inline KVRM_COLD void store_halves(u64 page, u64 offset, u64 value) { memory::detail::put_halves(page, offset, value); }

// The memory of a lane inside a region: the page of the last access, the recent ones, and those that the lane knows. An
// access to any other page, and most that do not fit into words, leave the region with the instruction not done. The
// entries of recent pages are right as long as the map does not change, and nothing in a region changes it. Accesses to
// common memory are relaxed atomics, as the architecture wants them.
struct LinkedLaneMemory {
  LaneLinks* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
    const u64 offset = address & (memory::kPageSize - 1);
    u64 page;
    const bool at_hand = is_at_hand<T, Access::kRead>(address, page);
    if (KVRM_UNLIKELY(!at_hand)) {
      if (links->gives_up) return Trap::kNotHere;
      const Trap trap = find<T, Access::kRead>(address, page);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) % 8 == 0 && sizeof(T) <= 32) {
        if (memory::detail::misfit<T>(address) != 0 && !links->common) {
          memory::detail::Words<T> words;
#pragma GCC unroll 4
          for (u32 i = 0; i < sizeof(T) / 8; ++i) words.words[i] = load_across(page, offset + u64{i} * 8);
          value = __builtin_bit_cast(T, words);
          return Trap::kNone;
        }
      }
    }
    value = get<T>(page, offset);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu&, u64 address, const T& value) {
    const u64 offset = address & (memory::kPageSize - 1);
    u64 page;
    const bool at_hand = is_at_hand<T, Access::kWrite>(address, page);
    if (KVRM_UNLIKELY(!at_hand)) {
      if (links->gives_up) return Trap::kNotHere;
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) == 8) {
        if (memory::detail::misfit<T>(address) != 0 && !links->common) {
          store_halves(page, offset, __builtin_bit_cast(u64, value));
          return Trap::kNone;
        }
      }
    }
    put<T>(page, offset, value);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu&, u64 address, const T& expected, const T& desired, T& observed) {
    const u64 offset = address & (memory::kPageSize - 1);
    if (KVRM_UNLIKELY(memory::detail::misfit<T>(address) != 0)) return Trap::kNotHere;
    if (sizeof(T) > sizeof(u64) && links->common) return Trap::kNotHere;
    u64 page;
    if (links->forgets) {
      if (KVRM_UNLIKELY(!is_recent(address, memory::kNoRead | memory::kNoWrite, page))) return Trap::kNotHere;
    } else {
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (KVRM_UNLIKELY(trap != Trap::kNone)) return trap;
      if (KVRM_UNLIKELY((links->readable & forbidding<Access::kRead>(links->common)) != 0)) return Trap::kNotHere;
    }
    if constexpr (sizeof(T) <= sizeof(u64)) {
      if (links->common) {
        observed = Pieces<T>::compare_exchange(memory::lane_byte(page, offset), expected, desired);
        return Trap::kNone;
      }
    }
    observed = get<T>(page, offset);
    if (observed == expected) put<T>(page, offset, desired);
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {
    if (links->common) sync::fence<sync::kSequential, sync::kDevice>();
  }

 private:
  // In a page that was found.
  template <class T>
  KVRM_INLINE T get(u64 page, u64 offset) const {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->common) return Pieces<T>::load(memory::lane_byte(page, offset));
    }
    if (links->forgets) return memory::detail::get_at<T>(reinterpret_cast<const u8*>(page + offset), 0);
    return memory::detail::get<T>(page, offset);
  }
  template <class T>
  KVRM_INLINE void put(u64 page, u64 offset, const T& value) {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->common) return Pieces<T>::store(memory::lane_byte(page, offset), value);
    }
    if (links->forgets) return memory::detail::put_at<T>(reinterpret_cast<u8*>(page + offset), 0, value);
    memory::detail::put<T>(page, offset, value);
  }

  // Whether an access can be done without a call, and in which page.
  template <class T, Access kAccess>
  KVRM_INLINE bool is_at_hand(u64 address, u64& page) const {
    const u64 misfit = memory::detail::misfit<T>(address);
    if (links->forgets) return is_recent(address, forbidding<kAccess>(false), page, misfit);
    page = known();
    return (is_other(address, kAccess == Access::kRead ? links->readable : links->writable) | misfit) == 0;
  }
  // Not zero: the address lies in another page, or has a tag of its own.
  static KVRM_INLINE u64 is_other(u64 address, u64 page) { return (address & memory::kPageMask) ^ page; }
  // Among the recent pages, for whatever is not forbidden.
  KVRM_INLINE bool is_recent(u64 address, u64 forbidden, u64& page, u64 misfit = 0) const {
    const memory::LaneTranslation& slot = links->pages->recent_slot<true>(address);
#if defined(__NVPTX__)
    // Both words at once.
    using Both = u64 __attribute__((vector_size(16)));
    const Both found = *(const __attribute__((address_space(3))) Both*)&slot;
    const u64 tag = found[0];
    page = found[1];
#else
    const u64 tag = slot.tag;
    page = slot.page;
#endif
    return ((is_other(address, tag) & (memory::kPageMask | forbidden)) | misfit) == 0;
  }

  // Words lie side by side in the memory of a lane that is alone, and in common memory.
  KVRM_INLINE u64 known() const {
    if ((links->alone || links->common) && (links->page & 7) != 0) __builtin_unreachable();
    return links->page;
  }

  // With a call where it must be. The links remember the page, unless they forget.
  template <class T, Access kAccess>
  KVRM_INLINE Trap find(u64 address, u64& page) {
    auto* const pages = (SharedPages*)links->pages;
    if (links->forgets) {
      page = find_lone_page<sizeof(T), kAccess>(pages, address);
      return KVRM_UNLIKELY((page & kIsTrap) != 0) ? trap_of(page) : Trap::kNone;
    }
    constexpr u64 kEvery = memory::kNoRead | memory::kNoWrite | memory::kNoCommonRead | memory::kNoCommonWrite;
    const bool common = links->common;
    const u64 asked = memory::kTagMask | forbidding<kAccess>(common), wanted = address & memory::kTagMask;
    memory::LaneTranslation found{memory::kNoLanePage, 0};
    if (links->in_place) found = recent(address);
    if (!links->in_place || (((found.tag ^ wanted) & asked) | memory::detail::misfit<T>(address)) != 0) {
      if (common) {
        found = links->alone ? find_page<sizeof(T), kAccess, true, true>(pages, address)
                             : find_page<sizeof(T), kAccess, false, true>(pages, address);
      } else {
        found = links->alone ? find_page<sizeof(T), kAccess, true, false>(pages, address)
                             : find_page<sizeof(T), kAccess, false, false>(pages, address);
      }
      if (KVRM_UNLIKELY(found.tag == memory::kNoLanePage)) return trap_of(found.page);
    }
    links->readable = found.tag & ~(kEvery & ~forbidding<Access::kRead>(common));
    links->writable = found.tag & ~(kEvery & ~forbidding<Access::kWrite>(common));
    links->page = found.page;
    page = known();
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
