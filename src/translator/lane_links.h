// What code of a region on a GPU needs beside the registers. Freestanding: the bitcode of the rows is built from this.
#pragma once

#include <stddef.h>

#include "memory/lane_memory.h"

namespace kvrm::translator {

// A region's own copy, or several; the stitcher keeps them in SSA values.
struct LaneLinks {
  memory::KnownPages* pages;  // the lane's, in shared memory
  // The page that was accessed last through these links: its address, or what no address is where it is not for
  // reading, or not for writing; and where it is, as a LaneTranslation says it.
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

// What a region's code has of a lane: the kernel's view of it (KVRM_VECTORS_ELSEWHERE).
using RegionLane = memory::BasicResidentLane<BasicCpu<U128*>>;

// Trap::kNotHere or kNotRecent, as a number of which a compiler knows that it is not 0.
KVRM_INLINE Trap trap_of(u64 number) {
  constexpr u32 kBoth = static_cast<u32>(Trap::kNotHere) & static_cast<u32>(Trap::kNotRecent);
  static_assert(kBoth != 0);
  return static_cast<Trap>(static_cast<u32>(number) | kBoth);
}

// A page that is not where the region looked for it: among the recent ones, which accesses that lie across words need
// to be told, or among all that the lane knows. It is told for addresses with the same tag of their own. With
// kNoLanePage for a tag the access cannot be done here, and `page` is the trap. Called: in its place it would be most
// of a region's code, and what warps run would not fit into a multiprocessor's caches.
template <u32 kSize, Access kAccess, bool kAlone, bool kCommon>
KVRM_INLINE memory::LaneTranslation look_for_page(SharedPages* shared, u64 address) {
  struct Bytes {
    u8 of[kSize];
  };
  constexpr u64 kAsked = memory::kTagMask | memory::forbidding(kAccess, kCommon);
  auto* const pages = (memory::KnownPages*)shared;
  const u64 wanted = address & memory::kTagMask;
  const bool is_misfit = memory::detail::misfit<Bytes>(address) != 0;
  if ((is_misfit && (kCommon || !may_lie_across<kSize>(address, kAccess))) ||
      (address & (memory::kPageSize - 1)) > memory::kPageSize - kSize) {
    return {memory::kNoLanePage, static_cast<u64>(Trap::kNotHere)};
  }
  memory::LaneTranslation found = pages->recent_slot<kAlone>(address);
  if (((found.tag ^ wanted) & kAsked) != 0) {
    const memory::LaneTranslation& far = pages->far_slot(address);
    found = {memory::load_global<u64>(reinterpret_cast<const u8*>(&far.tag)),
             memory::load_global<u64>(reinterpret_cast<const u8*>(&far.page))};
    if (((found.tag ^ pages->far_tag(wanted)) & (kAsked | memory::kGenerationBits)) != 0) {
      auto* const lane = reinterpret_cast<RegionLane*>(reinterpret_cast<u8*>(pages) - offsetof(RegionLane, pages));
      lane->cpu.fault_address = address;
      lane->cpu.fault_access = static_cast<u32>(kAccess);
      return {memory::kNoLanePage, static_cast<u64>(Trap::kNotRecent)};
    }
    found = pages->keep_recent<kAlone>(address, found.tag & ~memory::kGenerationBits, found.page);
  }
  const u64 own_tag = address & ~memory::kUntagged;
  return {found.tag | own_tag, kAlone ? found.page - own_tag : found.page};
}
template <u32 kSize, Access kAccess, bool kAlone, bool kCommon>
KVRM_COLD memory::LaneTranslation find_page(SharedPages* shared, u64 address) {
  return look_for_page<kSize, kAccess, kAlone, kCommon>(shared, address);
}
// The same for lanes that are alone, in one word: what is added to addresses, a multiple of 8, or the trap.
inline constexpr u32 kFoundShift = 3;
template <u32 kSize, Access kAccess>
KVRM_COLD u64 find_lone_page(SharedPages* shared, u64 address) {
  const memory::LaneTranslation found = look_for_page<kSize, kAccess, true, false>(shared, address);
  return found.tag == memory::kNoLanePage ? found.page << kFoundShift | 1 : found.page;
}

// A word that lies across two.
inline KVRM_COLD u64 load_across(u64 page, u64 offset) { return memory::detail::get_across(page, offset); }
inline KVRM_COLD void store_halves(u64 page, u64 offset, u64 value) { memory::detail::put_halves(page, offset, value); }

// Bits in which the words of an access differ from those of the page with a tag, or that make it no access to whole
// words; in halves, since a GPU's registers are. What the page is not for counts as well if it is to be like that.
constexpr bool fits_words(u32 size) { return size % 8 == 0 || (size & (size - 1)) == 0; }
template <bool kWithForbidden>
KVRM_INLINE u32 difference(u64 address, u32 size, u64 tag) {
  const u32 checked = static_cast<u32>(memory::kPageMask) | (size < 8 ? size - 1 : 7);
  const u32 low = static_cast<u32>(address), last = low + (size > 8 ? size - 8 : 0);
  const u32 wanted = static_cast<u32>(tag);
  const u32 differs = kWithForbidden ? ((low & checked) ^ wanted) | ((last & checked) ^ wanted)
                                     : ((low ^ wanted) | (last ^ wanted)) & checked;
  return differs | (static_cast<u32>(address >> 32) ^ static_cast<u32>(tag >> 32));
}

// Where the page is if it is one of the recent ones of a lane that is alone; both words at once.
KVRM_INLINE memory::LaneTranslation recent_page(memory::KnownPages* pages, u64 address) {
  const memory::LaneTranslation& slot = pages->recent_slot<true>(address);
#if defined(__NVPTX__)
  using Both = u64 __attribute__((vector_size(16)));
  const Both found = *(const __attribute__((address_space(3))) Both*)&slot;
  return {found[0], found[1]};
#else
  return slot;
#endif
}

// The same for an access, where every access looks there: 0, or in which bits that page is another one, or not for it.
// A function until a region has been put together: accesses that share their look are found by it (recent_pages.h).
struct RecentPage {
  u64 page;
  u32 differs;
};
extern "C" inline __attribute__((noinline, pure)) RecentPage kvrm_recent_page(SharedPages* shared, u64 address,
                                                                              u32 size, u32 forbidden) {
  const memory::LaneTranslation found = recent_page((memory::KnownPages*)shared, address);
  return {found.page, difference<false>(address, size, found.tag) | (static_cast<u32>(found.tag) & forbidden)};
}

// The memory of a lane inside a region: the page of the last access, the recent ones, and those that the lane knows. An
// access to any other page, and most that do not fit into words, leave the region with the instruction not done. The
// entries of recent pages are right as long as the map does not change, and nothing in a region changes it. Accesses to
// common memory are relaxed atomics, as the architecture wants them.
struct LinkedLaneMemory {
  LaneLinks* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
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
          for (u32 i = 0; i < sizeof(T) / 8; ++i) {
            words.words[i] = load_across(first_word(page, address), offset(address) + u64{i} * 8);
          }
          value = __builtin_bit_cast(T, words);
          return Trap::kNone;
        }
      }
    }
    value = get<T>(page, address);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu&, u64 address, const T& value) {
    u64 page;
    const bool at_hand = is_at_hand<T, Access::kWrite>(address, page);
    if (KVRM_UNLIKELY(!at_hand)) {
      if (links->gives_up) return Trap::kNotHere;
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (trap != Trap::kNone) return trap;
      if constexpr (sizeof(T) == 8) {
        if (memory::detail::misfit<T>(address) != 0 && !links->common) {
          store_halves(first_word(page, address), offset(address), __builtin_bit_cast(u64, value));
          return Trap::kNone;
        }
      }
    }
    put<T>(page, address, value);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu&, u64 address, const T& expected, const T& desired, T& observed) {
    if (KVRM_UNLIKELY(memory::detail::misfit<T>(address) != 0)) return Trap::kNotHere;
    if (sizeof(T) > sizeof(u64) && links->common) return Trap::kNotHere;
    u64 page;
    if (links->forgets) {
      // What can be written can be read.
      if (KVRM_UNLIKELY((!is_at_hand<T, Access::kWrite>(address, page)))) return Trap::kNotHere;
    } else {
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (KVRM_UNLIKELY(trap != Trap::kNone)) return trap;
      if (KVRM_UNLIKELY((links->readable & memory::forbidding(Access::kRead, links->common)) != 0)) {
        return Trap::kNotHere;
      }
    }
    if constexpr (sizeof(T) <= sizeof(u64)) {
      if (links->common) {
        observed = Pieces<T>::compare_exchange(byte(page, address), expected, desired);
        return Trap::kNone;
      }
    }
    observed = get<T>(page, address);
    if (observed == expected) put<T>(page, address, desired);
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {
    if (links->common) sync::fence<sync::kSequential, sync::kDevice>();
  }

 private:
  static KVRM_INLINE u64 offset(u64 address) { return address & (memory::kPageSize - 1); }
  // In a page that was found. Words lie side by side in the memory of a lane that is alone, and in common memory.
  KVRM_INLINE u64 first_word(u64 page, u64 address) const {
    return links->alone ? page + (address & memory::kPageMask) : page;
  }
  KVRM_INLINE u8* byte(u64 page, u64 address) const {
    if (links->alone) return reinterpret_cast<u8*>(page + address);
    if (links->common && (page & 7) != 0) __builtin_unreachable();
    return memory::lane_byte(page, offset(address));
  }
  template <class T>
  KVRM_INLINE T get(u64 page, u64 address) const {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->common) return Pieces<T>::load(byte(page, address));
    }
    return memory::detail::get_at<T>(byte(page, address), links->alone ? 0 : page & 7);
  }
  template <class T>
  KVRM_INLINE void put(u64 page, u64 address, const T& value) {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->common) return Pieces<T>::store(byte(page, address), value);
    }
    memory::detail::put_at<T>(byte(page, address), links->alone ? 0 : page & 7, value);
  }

  // Whether an access can be done without a call, and in which page.
  template <class T, Access kAccess>
  KVRM_INLINE bool is_at_hand(u64 address, u64& page) const {
    if (!fits_words(sizeof(T))) return false;
    if (links->forgets) {
      const RecentPage found =
          kvrm_recent_page((SharedPages*)links->pages, address, sizeof(T), static_cast<u32>(forbidden<kAccess>()));
      page = found.page;
      return found.differs == 0;
    }
    page = links->page;
    return difference<true>(address, sizeof(T), kAccess == Access::kRead ? links->readable : links->writable) == 0;
  }
  // The same for one of the recent pages of a lane that is alone, which has bits for all that it is not for.
  template <Access kAccess>
  KVRM_INLINE u64 forbidden() const {
    const bool is_always = kAccess == Access::kRead && !links->common;
    return is_always ? 0 : memory::forbidding(kAccess, links->common);
  }
  template <class T, Access kAccess>
  KVRM_INLINE bool is_for(u64 address, u64 tag) const {
    return fits_words(sizeof(T)) &&
           (difference<false>(address, sizeof(T), tag) | static_cast<u32>(tag & forbidden<kAccess>())) == 0;
  }

  // With a call where it must be. The links remember the page, unless they forget.
  template <class T, Access kAccess>
  KVRM_INLINE Trap find(u64 address, u64& page) {
    auto* const pages = (SharedPages*)links->pages;
    if (links->forgets) {
      page = find_lone_page<sizeof(T), kAccess>(pages, address);
      return KVRM_UNLIKELY((page & 7) != 0) ? trap_of(page >> kFoundShift) : Trap::kNone;
    }
    const bool common = links->common;
    memory::LaneTranslation found{memory::kNoLanePage, 0};
    if (links->in_place) found = recent_page(links->pages, address);
    if (!links->in_place || !is_for<T, kAccess>(address, found.tag)) {
      if (common) {
        found = links->alone ? find_page<sizeof(T), kAccess, true, true>(pages, address)
                             : find_page<sizeof(T), kAccess, false, true>(pages, address);
      } else {
        found = links->alone ? find_page<sizeof(T), kAccess, true, false>(pages, address)
                             : find_page<sizeof(T), kAccess, false, false>(pages, address);
      }
      if (KVRM_UNLIKELY(found.tag == memory::kNoLanePage)) return trap_of(found.page);
    }
    links->readable = found.tag & ~(memory::kAnyForbidden & ~memory::forbidding(Access::kRead, common));
    links->writable = found.tag & ~(memory::kAnyForbidden & ~memory::forbidding(Access::kWrite, common));
    links->page = page = found.page;
    return Trap::kNone;
  }
};

}  // namespace kvrm::translator
