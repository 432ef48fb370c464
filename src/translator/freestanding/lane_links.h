// What a region on a GPU needs beside the registers. Freestanding: part of the rows' bitcode.
#pragma once

#include "memory/freestanding/lane_memory.h"

namespace kvrm::translator {

// A region's own copy, or several; the stitcher keeps them in SSA values.
struct LaneLinks {
  memory::LaneTlb* pages;  // the lane's, in shared memory
  // The page of the last access through these links: its tag, or kNoLanePage where it may not be read, or not be
  // written; and its address, as in LaneTlbEntry.
  u64 readable, writable, page;
  // Constants. alone: each lane has a warp to itself. in_place: the L1 TLB is read inline. shares_memory: all lanes
  // have one memory. forgets: no last page is remembered, so every access reads the L1 TLB. gives_up: with that, an L1
  // miss, or an access that does not fit into words, leaves the region.
  u64 alone, in_place, shares_memory, forgets, gives_up;
  // The lane's window, if regions may count on it (with `forgets`), and the bits of an address that are a place in it,
  // a constant; 0: none.
  u64 window, window_mask;
};

// In shared memory on a GPU, which the compiler cannot infer everywhere.
#if defined(__NVPTX__)
using SharedPages = __attribute__((address_space(3))) memory::LaneTlb;
#else
using SharedPages = memory::LaneTlb;
#endif

template <class T>
using Pieces = memory::SharedPieces<T>;

// Accesses that need not be aligned: those of copies and comparisons of strings.
constexpr bool may_lie_across(u32 size) { return size == 2 || size == 4 || (size % 8 == 0 && size <= 32); }

// A region's view of a lane: the kernel's (KVRM_VECTORS_ELSEWHERE).
using RegionLane = memory::BasicResidentLane<BasicCpu<U128*>>;

// Trap::kFallback or kTlbMiss, as a number that the compiler knows is not 0.
KVRM_INLINE Trap trap_of(u64 number) {
  constexpr u32 kBoth = static_cast<u32>(Trap::kFallback) & static_cast<u32>(Trap::kTlbMiss);
  static_assert(kBoth != 0);
  return static_cast<Trap>(static_cast<u32>(number) | kBoth);
}

// After a miss of the region's own lookup: reads the L1 TLB, which unaligned accesses need, then the L2 TLB. The result
// is for addresses with the same tag. kNoLanePage as the tag: the access cannot be done here, and `page` is the trap.
// Not inlined: it would be most of a region's code and overflow a multiprocessor's caches.
template <u32 kSize, Access kAccess, bool kAlone, bool kShared>
KVRM_INLINE memory::LaneTlbEntry lookup_page(SharedPages* shared, u64 address) {
  struct Bytes {
    u8 of[kSize];
  };
  constexpr u64 kAsked = memory::kTagMask | memory::forbidding(kAccess, kShared);
  auto* const pages = (memory::LaneTlb*)shared;
  const u64 wanted = address & memory::kTagMask;
  const bool is_misfit = memory::detail::misfit<Bytes>(address) != 0;
  if ((is_misfit && (kShared || !may_lie_across(kSize))) ||
      (address & (memory::kPageSize - 1)) > memory::kPageSize - kSize) {
    return {memory::kNoLanePage, static_cast<u64>(Trap::kFallback)};
  }
  memory::LaneTlbEntry found = pages->l1_slot<kAlone>(address);
  if (((found.tag ^ wanted) & kAsked) != 0) {
    const memory::LaneTlbEntry& l2 = pages->l2_slot(address);
    found = {memory::load_global<u64>(reinterpret_cast<const u8*>(&l2.tag)),
             memory::load_global<u64>(reinterpret_cast<const u8*>(&l2.page))};
    if (((found.tag ^ pages->l2_tag(wanted)) & (kAsked | memory::kGenerationBits)) != 0) {
      auto* const lane =
          reinterpret_cast<RegionLane*>(reinterpret_cast<u8*>(pages) - __builtin_offsetof(RegionLane, pages));
      lane->cpu.fault_address = address;
      lane->cpu.fault_access = static_cast<u32>(kAccess);
      return {memory::kNoLanePage, static_cast<u64>(Trap::kTlbMiss)};
    }
    found = pages->fill_l1<kAlone>(address, found.tag & ~memory::kGenerationBits, found.page);
  }
  const u64 own_tag = address & ~memory::kUntagged;
  return {found.tag | own_tag, kAlone ? found.page - own_tag : found.page};
}
template <u32 kSize, Access kAccess, bool kAlone, bool kShared>
KVRM_COLD memory::LaneTlbEntry find_page(SharedPages* shared, u64 address) {
  return lookup_page<kSize, kAccess, kAlone, kShared>(shared, address);
}
// The same for lanes that are alone, in one word: the host addend, a multiple of 8, or the trap.
inline constexpr u32 kFoundShift = 3;
template <u32 kSize, Access kAccess>
KVRM_COLD u64 find_lone_page(SharedPages* shared, u64 address) {
  const memory::LaneTlbEntry found = lookup_page<kSize, kAccess, true, false>(shared, address);
  return found.tag == memory::kNoLanePage ? found.page << kFoundShift | 1 : found.page;
}

// Up to a word that is not aligned.
inline KVRM_COLD u64 load_across(u64 page, u64 offset, u32 size) {
  return memory::detail::get_across(page, offset, size);
}
inline KVRM_COLD void store_across(u64 page, u64 offset, u64 value, u32 size) {
  memory::detail::put_across(page, offset, value, size);
}

// An access in pieces of up to a word.
template <u32 kSize>
struct PieceOf {
  using Type = u64;
};
template <>
struct PieceOf<2> {
  using Type = u16;
};
template <>
struct PieceOf<4> {
  using Type = u32;
};
template <class T>
struct Across {
  using Piece = typename PieceOf<sizeof(T)>::Type;
  static constexpr u32 kCount = sizeof(T) / sizeof(Piece);
  Piece of[kCount];
};

// Bits in which the words of an access differ from the page with this tag, or that make it no access to whole words; in
// halves, as a GPU's registers. kWithForbidden: denied permissions count as well.
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

// The L1 TLB entry of an address, for a lane that is alone; both words at once.
KVRM_INLINE memory::LaneTlbEntry l1_page(memory::LaneTlb* pages, u64 address) {
  const memory::LaneTlbEntry& slot = pages->l1_slot<true>(address);
#if defined(__NVPTX__)
  using Both = u64 __attribute__((vector_size(16)));
  const Both found = *(const __attribute__((address_space(3))) Both*)&slot;
  return {found[0], found[1]};
#else
  return slot;
#endif
}

// Where an access would be in the window. Words may always be loaded from there, whatever the address is.
KVRM_INLINE u64 place_in_window(u64 address, u32 size, u64 window, u64 mask) {
  return window | (address & mask & ~u64{size < 8 ? size - 1 : 7});
}

// The same for an access, in regions that forget: 0, or the bits in which the page differs or lacks a permission. A
// call until the region is stitched: passes/l1_tlb.h finds accesses that can share a lookup by it. With a window
// the page does not depend on what the L1 TLB says.
struct L1Page {
  u64 page;
  u32 differs;
};
extern "C" inline __attribute__((noinline, pure)) L1Page kvrm_l1_page(SharedPages* shared, u64 address, u32 size,
                                                                      u32 forbidden, u64 window, u64 mask) {
  const memory::LaneTlbEntry found = l1_page((memory::LaneTlb*)shared, address);
  const auto difference_at = [&](u64 at, u32 bytes, u64 tag) {
    return difference<false>(at, bytes, tag) | (static_cast<u32>(tag) & forbidden);
  };
  if (mask == 0) return {found.page, difference_at(address, size, found.tag)};
  const u64 page = place_in_window(address, size, window, mask) - address;
  if (size <= 16) return {page, difference_at(address, size, found.tag)};
  // The first page and the last one, which are neighbors in the window, too, but for its end.
  const u64 last = address + size - 8;
  const u32 wraps = (static_cast<u32>(address & mask) + size - 8) & ~static_cast<u32>(mask);
  return {page, difference_at(address, 8, found.tag) |
                    difference_at(last, 8, l1_page((memory::LaneTlb*)shared, last).tag) | wraps};
}

// The memory of a lane inside a region: the page of the last access, then the L1 TLB, then the L2 TLB. A miss, and most
// accesses that do not fit into words, leave the region before the instruction. TLB entries stay valid while the
// mapping does not change, and nothing in a region changes it. Accesses to shared memory are relaxed atomics, as the
// architecture requires.
struct LinkedLaneMemory {
  LaneLinks* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
    u64 page;
    const bool at_hand = is_at_hand<T, Access::kRead>(address, page);
    if (KVRM_UNLIKELY(!at_hand)) {
      if (links->gives_up) return Trap::kFallback;
      const Trap trap = find<T, Access::kRead>(address, page);
      if (trap != Trap::kNone) return trap;
      if constexpr (may_lie_across(sizeof(T))) {
        if (memory::detail::misfit<T>(address) != 0 && !links->shares_memory) {
          Across<T> pieces;
#pragma GCC unroll 4
          for (u32 i = 0; i < Across<T>::kCount; ++i) {
            pieces.of[i] = static_cast<typename Across<T>::Piece>(
                load_across(first_word(page, address), offset(address) + u64{i} * 8, sizeof(pieces.of[i])));
          }
          value = __builtin_bit_cast(T, pieces);
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
      if (links->gives_up) return Trap::kFallback;
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (trap != Trap::kNone) return trap;
      if constexpr (may_lie_across(sizeof(T))) {
        if (memory::detail::misfit<T>(address) != 0 && !links->shares_memory) {
          const auto pieces = __builtin_bit_cast(Across<T>, value);
#pragma GCC unroll 4
          for (u32 i = 0; i < Across<T>::kCount; ++i) {
            store_across(first_word(page, address), offset(address) + u64{i} * 8, pieces.of[i], sizeof(pieces.of[i]));
          }
          return Trap::kNone;
        }
      }
    }
    put<T>(page, address, value);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu&, u64 address, const T& expected, const T& desired, T& observed) {
    if (KVRM_UNLIKELY(memory::detail::misfit<T>(address) != 0)) return Trap::kFallback;
    if (sizeof(T) > sizeof(u64) && links->shares_memory) return Trap::kFallback;
    u64 page;
    if (links->forgets) {
      // What can be written can be read.
      if (KVRM_UNLIKELY((!is_at_hand<T, Access::kWrite>(address, page)))) return Trap::kFallback;
    } else {
      const Trap trap = find<T, Access::kWrite>(address, page);
      if (KVRM_UNLIKELY(trap != Trap::kNone)) return trap;
      if (KVRM_UNLIKELY((links->readable & memory::forbidding(Access::kRead, links->shares_memory)) != 0)) {
        return Trap::kFallback;
      }
    }
    if constexpr (sizeof(T) <= sizeof(u64)) {
      if (links->shares_memory) {
        observed = Pieces<T>::compare_exchange(byte(page, address), expected, desired);
        return Trap::kNone;
      }
    }
    observed = get<T>(page, address);
    if (observed == expected) put<T>(page, address, desired);
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {
    if (links->shares_memory) sync::fence<sync::kSequential, sync::kDevice>();
  }

 private:
  static KVRM_INLINE u64 offset(u64 address) { return address & (memory::kPageSize - 1); }
  // In a page that was found. Words are contiguous in the memory of a lane that is alone, and in shared memory.
  KVRM_INLINE u64 first_word(u64 page, u64 address) const {
    return links->alone ? page + (address & memory::kPageMask) : page;
  }
  KVRM_INLINE u8* byte(u64 page, u64 address) const {
    if (links->alone) return reinterpret_cast<u8*>(page + address);
    if (links->shares_memory && (page & 7) != 0) __builtin_unreachable();
    return memory::lane_byte(page, offset(address));
  }
  template <class T>
  KVRM_INLINE T get(u64 page, u64 address) const {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->shares_memory) return Pieces<T>::load(byte(page, address));
    }
    return memory::detail::get_at<T>(byte(page, address), links->alone ? 0 : page & 7);
  }
  template <class T>
  KVRM_INLINE void put(u64 page, u64 address, const T& value) {
    if constexpr (Pieces<T>::kCount != 0) {
      if (links->shares_memory) return Pieces<T>::store(byte(page, address), value);
    }
    memory::detail::put_at<T>(byte(page, address), links->alone ? 0 : page & 7, value);
  }

  // Whether an access needs no call, and its page.
  template <class T, Access kAccess>
  KVRM_INLINE bool is_at_hand(u64 address, u64& page) const {
    if (!fits_words(sizeof(T))) return false;
    if (links->forgets) {
      const u64 forbids = forbidden<kAccess>() | (links->window_mask == 0 ? 0 : memory::kNotInWindow);
      const L1Page found = kvrm_l1_page((SharedPages*)links->pages, address, sizeof(T), static_cast<u32>(forbids),
                                        links->window, links->window_mask);
      page = found.page;
      return found.differs == 0;
    }
    page = links->page;
    return difference<true>(address, sizeof(T), kAccess == Access::kRead ? links->readable : links->writable) == 0;
  }
  // The same for an L1 TLB entry of a lane that is alone, which has a bit for each denied permission.
  template <Access kAccess>
  KVRM_INLINE u64 forbidden() const {
    const bool is_always = kAccess == Access::kRead && !links->shares_memory;
    return is_always ? 0 : memory::forbidding(kAccess, links->shares_memory);
  }
  template <class T, Access kAccess>
  KVRM_INLINE bool is_for(u64 address, u64 tag) const {
    return fits_words(sizeof(T)) &&
           (difference<false>(address, sizeof(T), tag) | static_cast<u32>(tag & forbidden<kAccess>())) == 0;
  }

  // With a call if necessary. The links remember the page, unless they forget.
  template <class T, Access kAccess>
  KVRM_INLINE Trap find(u64 address, u64& page) {
    auto* const pages = (SharedPages*)links->pages;
    if (links->forgets) {
      page = find_lone_page<sizeof(T), kAccess>(pages, address);
      return KVRM_UNLIKELY((page & 7) != 0) ? trap_of(page >> kFoundShift) : Trap::kNone;
    }
    const bool shares_memory = links->shares_memory;
    memory::LaneTlbEntry found{memory::kNoLanePage, 0};
    if (links->in_place) found = l1_page(links->pages, address);
    if (!links->in_place || !is_for<T, kAccess>(address, found.tag)) {
      if (shares_memory) {
        found = links->alone ? find_page<sizeof(T), kAccess, true, true>(pages, address)
                             : find_page<sizeof(T), kAccess, false, true>(pages, address);
      } else {
        found = links->alone ? find_page<sizeof(T), kAccess, true, false>(pages, address)
                             : find_page<sizeof(T), kAccess, false, false>(pages, address);
      }
      if (KVRM_UNLIKELY(found.tag == memory::kNoLanePage)) return trap_of(found.page);
    }
    links->readable = found.tag & ~(memory::kAnyForbidden & ~memory::forbidding(Access::kRead, shares_memory));
    links->writable = found.tag & ~(memory::kAnyForbidden & ~memory::forbidding(Access::kWrite, shares_memory));
    links->page = page = found.page;
    return Trap::kNone;
  }
};

}  // namespace kvrm::translator
