// A lane's memory where very many lanes live: a GPU, or a simulated one. Freestanding.
//
// Lanes come in groups (the lanes of a warp). A group shares page tables of 64 pages each, found through a small hash
// table; a page of a group has one frame, in which the group's lanes lie interleaved by 8-byte words, so that lanes in
// lockstep touch neighboring words. Whether a lane has its own copy there, or still shares the image or the page of
// zeros, is in the lane's own page entry. Only the lanes of one group touch the group's tables, and the pools are made
// for everyone. The slow half is in lane_memory_map.h, which users include.
#pragma once

#include "base/atomics.h"
#include "base/warp.h"
#include "memory/freestanding/areas.h"
#include "memory/freestanding/lane_watch.h"
#include "memory/freestanding/lane_window.h"
#include "memory/freestanding/page.h"
#include "memory/freestanding/paged.h"
#include "memory/freestanding/policy.h"
#include "memory/freestanding/shared_bytes.h"
#include "memory/freestanding/slab_pool.h"

namespace kvrm::memory {

// A page's address without a tag of its own.
inline constexpr u64 kTagMask = kUntagged & kPageMask;

inline constexpr u32 kTableShift = 6;
inline constexpr u32 kTablePages = 1u << kTableShift;
inline constexpr u32 kPageWords = kPageSize / 8;

// A lane's page entry: the address of the page's first word, and flags in the top byte. The low three bits of the
// address hold the stride of neighboring words, as a shift: 0 in shared bytes, the group's in private frames.
inline constexpr u64 kEntryRead = u64{1} << 56;
inline constexpr u64 kEntryWrite = u64{1} << 57;
inline constexpr u64 kEntryExecute = u64{1} << 58;
inline constexpr u64 kEntryPrivate = u64{1} << 59;
inline constexpr u64 kEntryShared = u64{1} << 60;  // bytes that several lanes see: accesses are atomic
inline constexpr u64 kEntryCounted = u64{1} << 61;  // still shared bytes, but one of the lane's private pages already
inline constexpr u64 kEntryWatched = u64{1} << 62;  // may have watched words (lane_watch.h): all writes are noted
inline constexpr u64 kEntryPresent = u64{1} << 63;
inline constexpr u64 kEntryCopied = u64{1} << 55;  // a copy in the lane's window, of bytes that are not the lane's own
inline constexpr u64 kEntryAddress = (u64{1} << 55) - 1;
inline constexpr u64 kEntryPermissions = kEntryRead | kEntryWrite | kEntryExecute;
inline constexpr u32 kEntryPermissionShift = 56;

// What all groups share.
struct LaneWorld {
  SlabPool frames;  // a page for each lane of a group
  SlabPool tables;  // page tables
  const u8* zeros;  // a page of them
  u32 group_shift;  // log2 of the lanes in a group
  u32 directory_slots;  // of a group, a power of two
  u32 shares_memory;  // all lanes see and write the same pages: fences are needed, and no lane changes its map
  u32 shared_code_written;  // a write reached shared code that no lane can write: it is not what was decoded
  u32* shared_locks;  // where the device cannot exchange 16 bytes at once (memory/freestanding/shared_bytes.h);
                      // otherwise null
  LaneWindows windows;  // of lanes that are alone in their groups
};

// One word, since lanes join and leave while others do: below the frame's index + 1, or 0 if there is none; above a bit
// for each lane that has its copy there.
struct GroupPage {
  u64 state;
};
// After it: the lanes' entries, [page][lane].
struct GroupTable {
  GroupPage pages[kTablePages];
  u64 block;  // the number of its first page, in blocks of kTablePages
  u64 next;  // of the group's tables: index + 1; 0: the last
};
constexpr u64 group_table_bytes(u32 group_shift) {
  return sizeof(GroupTable) + (u64{kTablePages} * sizeof(u64) << group_shift);
}

constexpr u64 directory_words(u32 slots) { return u64{slots} + 1; }

// What a lane knows of its memory.
struct LaneSpace {
  LaneWorld* world;
  // The group's: slots with a block's number + 1 above and a table's index below, or 0; then index + 1 of the table
  // that was made last, where the list of all begins.
  u64* directory;
  Areas areas;
  u32 lane;  // in the group
  u32 page_limit;  // private pages this lane may have
  u32 private_pages;  // and has
  u32 changes;  // counts changes of the map and of watched words, for those that cache something about them
  LaneWatch watch;
  LaneWindow window = {};
};

// Where a page is. Tags are page addresses with bits for what the page is not for; the three below them are 0, as in
// the address of a word. Shared pages are for neither of the first two: code that accesses them atomically checks the
// others. A lane has pages of one kind only, and a private page that cannot be read is in no TLB.
inline constexpr u64 kNoRead = 8, kNoWrite = 16, kNoSharedRead = 32, kNoSharedWrite = 64;
// Not for code that takes every page to be at its place in the window.
inline constexpr u64 kNotInWindow = 128;
inline constexpr u64 kAnyForbidden = kNoRead | kNoWrite | kNoSharedRead | kNoSharedWrite | kNotInWindow;
KVRM_INLINE constexpr u64 forbidding(Access access, bool shares_memory) {
  if (shares_memory) return access == Access::kRead ? kNoSharedRead : kNoSharedWrite;
  return access == Access::kRead ? kNoRead : kNoWrite;
}
struct LaneTlbEntry {
  u64 tag;
  u64 page;  // as in an entry, without flags; in the L1 TLB of a lane that is alone: less the page's address
};
inline constexpr u32 kL1Slots = 8;
inline constexpr u32 kAloneL1Slots = 512;  // of a lane that has the room of a whole group for itself
inline constexpr u32 kAloneL1Gap = 8;
// With the address of the lane's window behind.
inline constexpr u32 kAloneL1Bytes = kAloneL1Gap + kAloneL1Slots * 16 + 8;
inline constexpr u64 kNoLanePage = ~u64{0};

// A running lane's TLB: L1 has a few pages, in shared memory on a GPU; L2 has many more, in device memory. That one
// is too large to be cleared whenever the map changes, so its tags carry a generation in their top byte.
inline constexpr u32 kGenerationShift = 56, kGenerations = 256;
inline constexpr u64 kGenerationBits = u64{kGenerations - 1} << kGenerationShift;
struct LaneTlb {
  LaneTlbEntry l1[kL1Slots];  // or kAloneL1Slots, after this struct
  LaneTlbEntry* l2;  // of this lane; those of a group lie interleaved
  u32 l2_mask;  // slots - 1
  u8 l2_shift;  // log2 of the stride of two slots
  u8 alone;  // 1: the lane is alone in its group
  u16 generation;

  // At a multiple of 16 bytes.
  KVRM_INLINE LaneTlbEntry* alone_l1() {
    return reinterpret_cast<LaneTlbEntry*>(reinterpret_cast<u8*>(this + 1) + kAloneL1Gap);
  }
  KVRM_INLINE u64& window() { return *reinterpret_cast<u64*>(alone_l1() + kAloneL1Slots); }
  // Neighboring pages, and the same page of neighboring areas, fall into different slots.
  template <bool kAlone>
  KVRM_INLINE LaneTlbEntry& l1_slot(u64 address) {
    const u32 low = static_cast<u32>(address);
    if constexpr (!kAlone) return l1[(low ^ low >> 9) >> kPageShift & (kL1Slots - 1)];
    u32 mixed = (low ^ low >> 9) & (kAloneL1Slots - 1) << kPageShift;
#if defined(__NVPTX__)
    // Nothing, but the compiler does not know, and leaves it to the machine to shift and add at once.
    asm("" : "+r"(mixed));
#endif
    static_assert(sizeof(LaneTlbEntry) == 1u << (kPageShift - 8));
    return *reinterpret_cast<LaneTlbEntry*>(reinterpret_cast<u8*>(alone_l1()) + (mixed >> 8));
  }
  KVRM_INLINE LaneTlbEntry& l1_slot(u64 address) { return alone ? l1_slot<true>(address) : l1_slot<false>(address); }
  // Puts a page into the L1 TLB.
  template <bool kAlone>
  KVRM_INLINE LaneTlbEntry fill_l1(u64 address, u64 tag, u64 page) {
    return l1_slot<kAlone>(address) = {tag, kAlone ? page - (tag & kTagMask) : page};
  }
  // An empty slot of a lane that is alone has the tag of a page that belongs into another one: no address finds it.
  void flush_l1() {
    LaneTlbEntry* const slots = alone ? alone_l1() : l1;
    for (u32 i = 0; i < (alone ? kAloneL1Slots : kL1Slots); ++i) slots[i].tag = kNoLanePage;
    if (alone) l1_slot<true>(kNoLanePage).tag = kNoLanePage ^ kPageSize;
  }

  KVRM_INLINE LaneTlbEntry& l2_slot(u64 address) const {
    const u32 page = static_cast<u32>(address >> kPageShift);
    return l2[u64{(page ^ page >> 12) & l2_mask} << l2_shift];
  }
  KVRM_INLINE u64 l2_tag(u64 tag) const { return tag | u64{generation} << kGenerationShift; }
};

// Loads and stores of the lane's own bytes, or of bytes that are never written.
template <class T>
KVRM_INLINE T load_global(const u8* at) {
#if defined(__NVPTX__)
  return *(const __attribute__((address_space(1))) T*)at;
#else
  T value;
  __builtin_memcpy(&value, at, sizeof(T));
  return value;
#endif
}
template <class T>
KVRM_INLINE void store_global(u8* at, T value) {
#if defined(__NVPTX__)
  *(__attribute__((address_space(1))) T*)at = value;
#else
  __builtin_memcpy(at, &value, sizeof(T));
#endif
}

// The bytes at an offset of a page whose words are 1 << shift apart.
KVRM_INLINE u8* lane_byte(u64 page, u64 offset) {
  const u32 shift = static_cast<u32>(page & 7), in_page = static_cast<u32>(offset);
  return reinterpret_cast<u8*>((page & ~u64{7}) + (((in_page & ~7u) << shift) | (in_page & 7)));
}

// An entry of the L1 TLB, both words at once. On a GPU it is in shared memory.
template <bool kAlone>
KVRM_INLINE LaneTlbEntry l1_page(const LaneTlbEntry& from) {
#if defined(__NVPTX__)
  LaneTlbEntry found;
  const auto* const at = (const __attribute__((address_space(3))) LaneTlbEntry*)&from;
  if constexpr (kAlone) {
    asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];" : "=l"(found.tag), "=l"(found.page) : "r"(at));
    return found;
  }
  asm volatile("ld.shared.u64 %0, [%2]; ld.shared.u64 %1, [%2 + 8];" : "=l"(found.tag), "=l"(found.page) : "r"(at));
  return found;
#else
  return from;
#endif
}

// The state of a lane that runs, and what it knows of its memory, side by side.
template <class State>
struct BasicResidentLane {
  State cpu;
  LaneTlb pages;
};
using ResidentLane = BasicResidentLane<Cpu>;

namespace detail {

// Memory comes in words of 8 bytes. An access that is aligned, or made of whole words, needs no more than its words: 0.
template <class T>
KVRM_INLINE u64 misfit(u64 address) {
  if constexpr (sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0) return address & (sizeof(T) - 1);
  if constexpr (sizeof(T) % 8 != 0) return 1;
  // The last word lies in the same page. Half of the address is enough to see it.
  const u32 first = static_cast<u32>(address), last = first + static_cast<u32>(sizeof(T) - 8);
  return (address & 7) | ((first ^ last) & static_cast<u32>(kPageMask));
}
template <class T>
struct Words {
  u64 words[sizeof(T) / 8];
};
// At an address, whose words are 1 << shift apart.
template <class T>
KVRM_INLINE T get_at(const u8* first, u64 shift) {
  if constexpr (sizeof(T) == 1) return __builtin_bit_cast(T, load_global<u8>(first));
  if constexpr (sizeof(T) == 2) return __builtin_bit_cast(T, load_global<u16>(first));
  if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, load_global<u32>(first));
  if constexpr (sizeof(T) % 8 == 0) {
    Words<T> words;
#pragma GCC unroll 8
    for (u32 i = 0; i < sizeof(T) / 8; ++i) words.words[i] = load_global<u64>(first + (u64{i} * 8 << shift));
    return __builtin_bit_cast(T, words);
  }
  __builtin_unreachable();
}
template <class T>
KVRM_INLINE void put_at(u8* first, u64 shift, const T& value) {
  if constexpr (sizeof(T) == 1) store_global(first, __builtin_bit_cast(u8, value));
  if constexpr (sizeof(T) == 2) store_global(first, __builtin_bit_cast(u16, value));
  if constexpr (sizeof(T) == 4) store_global(first, __builtin_bit_cast(u32, value));
  if constexpr (sizeof(T) % 8 == 0) {
    const auto words = __builtin_bit_cast(Words<T>, value);
#pragma GCC unroll 8
    for (u32 i = 0; i < sizeof(T) / 8; ++i) store_global(first + (u64{i} * 8 << shift), words.words[i]);
  }
}
// In a page.
template <class T>
KVRM_INLINE T get(u64 page, u64 offset) {
  return get_at<T>(lane_byte(page, offset), page & 7);
}
template <class T>
KVRM_INLINE void put(u64 page, u64 offset, const T& value) {
  put_at<T>(lane_byte(page, offset), page & 7, value);
}

// Up to 8 bytes anywhere within the page, in the low bytes of the result.
KVRM_INLINE u64 get_across(u64 page, u64 offset, u32 size) {
  const u64 shift = (offset & 7) * 8, first = offset & ~u64{7};
  const u64 second = (offset & 7) + size > 8 ? first + 8 : first;
  const u64 low = load_global<u64>(lane_byte(page, first)), high = load_global<u64>(lane_byte(page, second));
  return low >> shift | high << 1 << (63 - shift);
}
// The low `size` bytes of a value, anywhere within the page. Compilers often store pairs of four bytes.
KVRM_INLINE void put_across(u64 page, u64 offset, u64 value, u32 size) {
  if (offset % 4 == 0 && size == 8) {
    store_global(lane_byte(page, offset), static_cast<u32>(value));
    store_global(lane_byte(page, offset + 4), static_cast<u32>(value >> 32));
    return;
  }
  for (u32 i = 0; i < size; ++i) store_global(lane_byte(page, offset + i), static_cast<u8>(value >> i * 8));
}

}  // namespace detail

// What a row wants of memory, and whether the L1 TLB has the page: a policy that does nothing else. Every row
// makes one access and changes nothing before it, so a row may be run with this first. The Cpu is that of a
// ResidentLane.
template <bool kAlone>
struct ProbeL1 {
  u64 address;
  LaneTlbEntry known;
  u64 misfit;  // not zero: not an access for L1Pages
  u64 wrong;  // not zero: that, or a miss, or a page that is not for this access
  Access access;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 at, T&) {
    return probe<T>(cpu, at, Access::kRead);
  }
  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 at, const T&) {
    return probe<T>(cpu, at, Access::kWrite);
  }

 private:
  template <class T>
  KVRM_INLINE Trap probe(Cpu& cpu, u64 at, Access how) {
    address = at;
    access = how;
    known = l1_page<kAlone>(reinterpret_cast<ResidentLane&>(cpu).pages.template l1_slot<kAlone>(at));
    misfit = detail::misfit<T>(at);
    wrong = ((known.tag ^ (at & kTagMask)) & (kTagMask | forbidding(how, false))) | misfit;
    return Trap::kTlbMiss;
  }
};

// Whether the L2 TLB has the page that was asked for; then the L1 TLB gets it.
template <bool kAlone>
KVRM_INLINE bool refill_l1(Cpu& cpu, const ProbeL1<kAlone>& probe) {
  LaneTlb& pages = reinterpret_cast<ResidentLane&>(cpu).pages;
  const LaneTlbEntry found = pages.l2_slot(probe.address);
  const u64 wanted = pages.l2_tag(probe.address & kTagMask);
  const u64 asked = kTagMask | kGenerationBits | forbidding(probe.access, false);
  if (((found.tag ^ wanted) & asked) != 0) return false;
  pages.template fill_l1<kAlone>(probe.address, found.tag & ~kGenerationBits, found.page);
  return true;
}

// Accesses to the page that was found, without asking. In a group of one lane words lie side by side.
template <bool kAlone>
struct L1Page {
  u64 page;

  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
    if constexpr (kAlone) {
      value = detail::get_at<T>(byte(address), 0);
    } else {
      value = detail::get<T>(page, address & (kPageSize - 1));
    }
    return Trap::kNone;
  }
  template <class T>
  KVRM_INLINE Trap store(Cpu&, u64 address, const T& value) {
    if constexpr (kAlone) {
      detail::put_at<T>(byte(address), 0, value);
    } else {
      detail::put<T>(page, address & (kPageSize - 1), value);
    }
    return Trap::kNone;
  }

 private:
  KVRM_INLINE u8* byte(u64 address) const { return reinterpret_cast<u8*>(page + (address & kUntagged)); }
};

// All of a lane's memory.
class LaneMemory {
 public:
  KVRM_INLINE LaneMemory(LaneSpace* space, LaneTlb* pages) : space_(space), pages_(pages) {}

  // --- the policy ---
  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    T copy;
    const SlowAccess slow = read_slow(address, &copy, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kRead);
    value = copy;
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    const T copy = value;
    const SlowAccess slow = write_slow(address, &copy, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kWrite);
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    const T wanted = expected, replacement = desired;
    T seen;
    const SlowAccess slow = exchange_slow(address, &wanted, &replacement, &seen, sizeof(T));
    if (slow.trap != Trap::kNone) return memory_trap(cpu, slow.trap, slow.fault_address, Access::kWrite);
    observed = seen;
    return Trap::kNone;
  }

  // A lane that is alone with its memory sees its own accesses in their order anyway.
  KVRM_INLINE void fence() {
    if (space_->world->shares_memory) sync::fence<sync::kSequential, sync::kDevice>();
  }

  // --- what an instruction fetch needs ---
  // The page at an address with permission to execute, as in an entry.
  struct Resolved {
    Trap trap;
    u64 page;
    u64 entry;
  };
  KVRM_COLD inline Resolved resolve(u64 tagged, Access access);
  // Puts a page into both TLBs if it is there and can be read, and nothing has to change for that: where the address
  // is, or null. Not at the expense of the page at `keep` in the L1 TLB.
  KVRM_COLD inline const u8* warm(u64 tagged, u64 keep);
  // Watches the code line at an address whose page resolve() has found, and that is not shared: from now on writes
  // to it are noted.
  KVRM_COLD inline void watch(u64 address);

  // --- the map and copies, as memory/guest_memory.h says ---
  inline bool read(u64 address, void* to, u64 size);
  inline bool write(u64 address, const void* from, u64 size);
  KVRM_COLD inline bool peek(u64 address, void* to, u64 size);
  KVRM_COLD inline bool poke(u64 address, const void* from, u64 size);
  // Shared bytes at a page that is mapped, instead of those of its area: a private page that is not written yet,
  // and counted as one. False: no memory for tables.
  KVRM_COLD inline bool show(u64 address, u64 source);
  KVRM_COLD inline u64 accessible(u64 address, u64 size, u32 protection);
  KVRM_COLD inline bool map(u64 address, u64 size, u32 protection);
  KVRM_COLD inline bool map_backed(u64 address, u64 size, u32 protection, const Backing& backing);
  KVRM_COLD inline bool unmap(u64 address, u64 size);
  KVRM_COLD inline bool protect(u64 address, u64 size, u32 protection);
  KVRM_COLD inline bool move(u64 from, u64 from_size, u64 to, u64 to_size);
  KVRM_COLD inline bool discard(u64 address, u64 size);
  // Private pages that the lane may have from now on. Returns how many it has.
  u64 set_page_limit(u64 pages) {
    space_->page_limit = static_cast<u32>(pages);
    return space_->private_pages;
  }
  bool is_free(u64 address, u64 size) { return space_->areas.is_free(address, size); }
  bool is_mapped(u64 address, u64 size) { return space_->areas.is_mapped(address, size); }
  u64 find_free(u64 size, u64 floor, u64 limit) { return space_->areas.find_free(size, floor, limit); }
  bool next_area(u64 address, Area& area) {
    const Area* found = space_->areas.next(address);
    if (found) area = *found;
    return found != nullptr;
  }
  // Whether part of the range was made from something that only the host knows.
  bool is_hosts(u64 address, u64 size) { return space_->areas.has_flag(address, size, kAreaBacked); }
  u32 area_count() { return space_->areas.count(); }
  const Area& area(u32 index) { return space_->areas[index]; }
  u32 protection_at(u64 address) {
    const Area* found = space_->areas.find(address);
    return found ? found->protection : u32{kNoAccess};
  }

  KVRM_COLD inline SlowAccess read_slow(u64 address, void* to, u32 size);
  KVRM_COLD inline SlowAccess write_slow(u64 address, const void* from, u32 size);
  KVRM_COLD inline SlowAccess exchange_slow(u64 address, const void* expected, const void* desired, void* observed,
                                            u32 size);

  // Visits the private pages: visit(address, where they are, whether that is a copy of the lane's own).
  template <class Visit>
  void for_each_private(Visit visit);
  // Releases every private page and forgets the map: the lane is about to become another one.
  KVRM_COLD inline void clear();
  // For a lane that begins to run: both TLBs are empty, and this L2 table belongs to it. Slots are a power of two.
  void reset_tlb(LaneTlbEntry* l2, u32 slots, u32 l2_shift, bool alone) {
    pages_->l2 = l2;
    pages_->l2_mask = slots - 1;
    pages_->l2_shift = static_cast<u8>(l2_shift);
    pages_->alone = alone;
    if (alone) pages_->window() = reinterpret_cast<u64>(space_->window.base);
    pages_->generation = kGenerations - 1;
    forget_pages();
  }
  void forget_pages() {
    pages_->flush_l1();
    pages_->generation = (pages_->generation + 1) % kGenerations;
    if (pages_->generation != 0) return;
    for (u32 i = 0; i <= pages_->l2_mask; ++i) pages_->l2[u64{i} << pages_->l2_shift].tag = kNoLanePage;
  }
  LaneSpace& space() { return *space_; }

 private:
  struct Slot {
    u64* entry;  // null: no memory left for tables
    GroupPage* page;
  };
  Slot find_slot(u64 page_number, bool make);
  static u64 shown_entry(const Area& area, u64 source);
  u64 untouched_entry(const Area& area, u64 address) const;
  u64 make_table(u64* at, u64 block);
  void list_table(u32 index, u64 block);
  template <class Visit>
  void for_each_table(Visit visit);
  template <class Visit>
  void for_each_page(GroupTable& table, Visit visit);
  template <class Visit>
  void for_each_entry(u64 address, u64 size, Visit visit);
  bool make_private(u64 address, u64& entry, GroupPage& page);
  void join(u64 address, GroupPage& page, u32 lanes);
  void drop(u64& entry, GroupPage& page);
  // Frames of the window have the numbers after those of the pool.
  u32 allocate_frame(u64 address);
  void release_frame(u32 index);
  u8* frame_at(u32 index) const;
  void copy_to_window(u64 address, u64& entry);
  // Whether a private page that moves to an address is copied.
  bool moves_by_copying(u64 to) const {
    return space_->world->group_shift != 0 || (space_->window && space_->window.is_free(space_->window.place(to)));
  }
  void drop_pages(u64 address, u64 size);
  bool copy_pages(u64 from, u64 size, u64 to);
  void note_private(u64 address);
  void fill_l2(u64 address, u64 not_for, u64 page);
  KVRM_COLD inline void note_write(u64 address, u64 size);
  void map_changed();
  void read_page(u64 entry, u64 offset, u8* to, u64 count) const;
  void write_page(u64 entry, u64 offset, const u8* from, u64 count) const;
  template <class Copy>
  SlowAccess each_page(u64 address, u64 size, Access access, Copy copy);

  LaneSpace* space_;
  LaneTlb* pages_;
};

}  // namespace kvrm::memory
