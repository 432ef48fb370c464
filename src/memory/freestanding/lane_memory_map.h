// The slow half of LaneMemory: page entries, private copies, and changes of the map.
#pragma once

#include "memory/freestanding/lane_frames.h"
#include "memory/freestanding/lane_memory.h"

namespace kvrm::memory {

// The lane's entry for a page, and what its group knows of the page.
inline LaneMemory::Slot LaneMemory::find_slot(u64 page_number, bool make) {
  LaneWorld& world = *space_->world;
  const u64 block = page_number >> kTableShift;
  const u32 mask = world.directory_slots - 1;
  const u32 first = static_cast<u32>(block * 0x9e3779b1u >> 7);
  for (u32 probe = 0; probe <= mask; ++probe) {
    u64* const at = &space_->directory[(first + probe) & mask];
    u64 seen = sync::load<sync::kRelaxed, sync::kDevice>(at);
    if (seen == 0) {
      if (!make) break;
      seen = make_table(at, block);
      if (seen == 0) break;
    }
    if (seen >> 32 != block + 1) continue;
    GroupTable* const table = reinterpret_cast<GroupTable*>(world.tables.at(static_cast<u32>(seen)));
    u64* const entries = reinterpret_cast<u64*>(table + 1);
    const u32 index = static_cast<u32>(page_number) & (kTablePages - 1);
    return {&entries[(index << world.group_shift) + space_->lane], &table->pages[index]};
  }
  return {nullptr, nullptr};
}

// A table at an empty slot of the directory: what is there then, or 0 if there is no memory. One of the group's lanes
// that want the same does it; another may still be faster, and with another block.
inline u64 LaneMemory::make_table(u64* at, u64 block) {
  LaneWorld& world = *space_->world;
  const Peers peers(at, space_->lane);
  if (peers.first()) {
    const u32 made = world.tables.allocate();
    const u64 mine = (block + 1) << 32 | made;
    if (made != SlabPool::kNone) {
      if (sync::compare_exchange<sync::kRelaxed, sync::kDevice>(at, 0, mine) == 0) {
        list_table(made, block);
      } else {
        world.tables.release(made);  // still all zeros
      }
    }
  }
  peers.sync();
  return sync::load<sync::kRelaxed, sync::kDevice>(at);
}

// Tables stay where they are until the world ends, so the list only grows.
inline void LaneMemory::list_table(u32 index, u64 block) {
  LaneWorld& world = *space_->world;
  GroupTable& table = *reinterpret_cast<GroupTable*>(world.tables.at(index));
  u64* const first = &space_->directory[world.directory_slots];
  table.block = block;
  u64 next = sync::load<sync::kRelaxed, sync::kDevice>(first);
  for (;;) {
    table.next = next;
    const u64 seen = sync::compare_exchange<sync::kRelease, sync::kDevice>(first, next, u64{index} + 1);
    if (seen == next) return;
    next = seen;
  }
}

// Visits the tables of the group: a few, while the directory has thousands of slots.
template <class Visit>
void LaneMemory::for_each_table(Visit visit) {
  const LaneWorld& world = *space_->world;
  u64 next = sync::load<sync::kAcquire, sync::kDevice>(&space_->directory[world.directory_slots]);
  while (next != 0) {
    GroupTable& table = *reinterpret_cast<GroupTable*>(world.tables.at(static_cast<u32>(next) - 1));
    next = table.next;
    visit(table);
  }
}

// Visits the lane's pages of a table that are present. What is in the entries comes over several at a time: one by one,
// each would be waited for.
template <class Visit>
void LaneMemory::for_each_page(GroupTable& table, Visit visit) {
  constexpr u32 kAtOnce = 16;
  static_assert(kTablePages % kAtOnce == 0);
  const u32 shift = space_->world->group_shift;
  u64* const entries = reinterpret_cast<u64*>(&table + 1) + space_->lane;
  for (u32 first = 0; first < kTablePages; first += kAtOnce) {
    u32 present = 0;
#pragma GCC unroll 16
    for (u32 i = 0; i < kAtOnce; ++i) {
      present |= static_cast<u32>((entries[u64{first + i} << shift] & kEntryPresent) != 0) << i;
    }
    for (; present != 0; present &= present - 1) {
      const u32 i = first + static_cast<u32>(__builtin_ctz(present));
      visit(((table.block << kTableShift) + i) << kPageShift, entries[u64{i} << shift], table.pages[i]);
    }
  }
}

// Visits the pages of the range that are present, skipping what was never touched.
template <class Visit>
void LaneMemory::for_each_entry(u64 address, u64 size, Visit visit) {
  if (size >> (kPageShift + kTableShift) > space_->world->directory_slots) {
    // A range with more tables than the group can have: visit those there are.
    for_each_table([&](GroupTable& table) {
      for_each_page(table, [&](u64 at, u64& entry, GroupPage& page) {
        if (at - address < size) visit(at, entry, page);
      });
    });
    return;
  }
  const u64 end = (address + size) >> kPageShift;
  for (u64 page = address >> kPageShift; page < end;) {
    const u64 next_block = ((page >> kTableShift) + 1) << kTableShift;
    const Slot slot = find_slot(page, false);
    if (!slot.entry) {
      page = next_block;
      continue;
    }
    const u64 stop = next_block < end ? next_block : end;
    u64* entry = slot.entry;
    for (GroupPage* group = slot.page; page < stop; ++page, ++group, entry += u64{1} << space_->world->group_shift) {
      if (*entry & kEntryPresent) visit(page << kPageShift, *entry, *group);
    }
  }
}

// The entry of a page that shows given bytes, or what its area says.
inline u64 LaneMemory::shown_entry(const Area& area, u64 source) {
  return source | kEntryPresent | u64{area.protection & 7u} << kEntryPermissionShift |
         (area.flags & kAreaLaneShared ? kEntryShared : 0);
}
inline u64 LaneMemory::untouched_entry(const Area& area, u64 address) const {
  return shown_entry(area, area.flags & kAreaSource ? area.source + ((address & ~(kPageSize - 1)) - area.start)
                                                    : reinterpret_cast<u64>(space_->world->zeros));
}

LaneMemory::Resolved LaneMemory::resolve(u64 tagged, Access access) {
  const u64 address = tagged & kUntagged;
  if (address >= kAddressLimit) return {Trap::kUnmapped, 0, 0};
  Slot slot = find_slot(address >> kPageShift, false);
  u64 entry = slot.entry ? *slot.entry : 0;
  if (!(entry & kEntryPresent)) {
    const Area* area = space_->areas.find(address);
    if (!area) return {Trap::kUnmapped, 0, 0};
    entry = untouched_entry(*area, address);
    if (!(entry & u64{static_cast<u32>(access)} << kEntryPermissionShift)) return {Trap::kPermission, 0, 0};
    // A shared page is always what its area says: no lane keeps an entry for it.
    if (entry & kEntryShared) {
      if (access != Access::kExecute && !space_->world->shared_locks) {
        fill_l2(
            address,
            kNoRead | kNoWrite | (entry & kEntryRead ? 0 : kNoSharedRead) | (entry & kEntryWrite ? 0 : kNoSharedWrite),
            entry & kEntryAddress);
      }
      return {Trap::kNone, entry & kEntryAddress, entry};
    }
    slot = find_slot(address >> kPageShift, true);
    if (!slot.entry) return {Trap::kOutOfMemory, 0, 0};
    *slot.entry = entry;
  }
  if (!(entry & u64{static_cast<u32>(access)} << kEntryPermissionShift)) return {Trap::kPermission, 0, 0};
  if (access == Access::kWrite && !(entry & kEntryPrivate)) {
    if (!make_private(address, *slot.entry, *slot.page)) return {Trap::kOutOfMemory, 0, 0};
    note_private(address);
    entry = *slot.entry;
  } else if (access == Access::kRead && space_->window && !(entry & (kEntryPrivate | kEntryCopied))) {
    copy_to_window(address, *slot.entry);
    entry = *slot.entry;
  }
  const u64 page = entry & kEntryAddress;
  const bool writable = (entry & (kEntryPrivate | kEntryWrite | kEntryWatched)) == (kEntryPrivate | kEntryWrite);
  // A fetch must not push out the page that the instruction is about to access: that instruction would never get done.
  if (access != Access::kExecute && entry & kEntryRead) fill_l2(address, writable ? 0 : kNoWrite, page);
  return {Trap::kNone, page, entry};
}

const u8* LaneMemory::warm(u64 tagged, u64 keep) {
  const u64 address = tagged & kUntagged;
  if (address >= kAddressLimit || &pages_->l1_slot(address) == &pages_->l1_slot(keep)) return nullptr;
  const Slot slot = find_slot(address >> kPageShift, false);
  const u64 entry = slot.entry ? *slot.entry : 0;
  if (!(entry & kEntryPresent) || !(entry & kEntryRead) || entry & kEntryShared) return nullptr;
  if (space_->window && !(entry & (kEntryPrivate | kEntryCopied))) return nullptr;  // a read would copy it
  const bool writable = (entry & (kEntryPrivate | kEntryWrite | kEntryWatched)) == (kEntryPrivate | kEntryWrite);
  fill_l2(address, writable ? 0 : kNoWrite, entry & kEntryAddress);
  return lane_byte(entry & kEntryAddress, address & (kPageSize - 1));
}

inline void LaneMemory::fill_l2(u64 address, u64 not_for, u64 page) {
  const bool in_window = space_->window && page == space_->window.place(address);
  const u64 tag = (address & kTagMask) | not_for | (in_window ? 0 : kNotInWindow);
  if (pages_->alone) {
    pages_->fill_l1<true>(address, tag, page);
  } else {
    pages_->fill_l1<false>(address, tag, page);
  }
  pages_->l2_slot(address) = {pages_->l2_tag(tag), page};
}

// Shared bytes that are no longer all an area shows: code there must not be run from the shared decoded words.
inline void LaneMemory::note_private(u64 address) {
  const Area* area = space_->areas.find(address);
  if (area && (area->flags & (kAreaSource | kAreaTouched)) == kAreaSource) space_->areas.mark(address, kAreaTouched);
}

void LaneMemory::watch(u64 address) {
  *find_slot(address >> kPageShift, false).entry |= kEntryWatched;
  const auto forbid_writing = [&](LaneTlbEntry& known) {
    if (((known.tag ^ address) & kTagMask) == 0) known.tag |= kNoWrite;
  };
  forbid_writing(pages_->l1_slot(address));
  forbid_writing(pages_->l2_slot(address));
  space_->watch.lines[space_->watch.slot_of(address)] = {address & ~(kCodeLineBytes - 1), 0, 0};
  space_->watch.any = true;
}

// After a write to a page that may have watched words. If many writes miss these, the page is data for now, and its
// writes shall be fast again: nothing of it is watched until code runs there again.
void LaneMemory::note_write(u64 address, u64 size) {
  constexpr u32 kPatience = 256;
  LaneWatch& watch = space_->watch;
  bool changed = watch.note(address, size);
  if (!changed && (watch.count == 0 || ++watch.misses % kPatience == 0)) {
    *find_slot(address >> kPageShift, false).entry &= ~kEntryWatched;
    changed = watch.forget_page(address);
  }
  space_->changes += changed;
}

inline void LaneMemory::map_changed() {
  forget_pages();
  space_->watch.forget();
  ++space_->changes;
}

// Resolves all pages of the access before copy(resolved, offset in page, done, count) is called for any. At most two.
template <class Copy>
SlowAccess LaneMemory::each_page(u64 address, u64 size, Access access, Copy copy) {
  const u64 offset = address & (kPageSize - 1);
  const u64 first_count = size < kPageSize - offset ? size : kPageSize - offset;
  const Resolved first = resolve(address, access);
  if (first.trap != Trap::kNone) return {first.trap, address};
  Resolved second{Trap::kNone, 0, 0};
  if (first_count < size) {
    second = resolve(address + first_count, access);
    if (second.trap != Trap::kNone) return {second.trap, address + first_count};
  }
  copy(first, offset, u64{0}, first_count);
  if (first_count < size) copy(second, u64{0}, first_count, size - first_count);
  return {Trap::kNone, 0};
}

// Bytes inside a page: whole words where they are whole on both sides.
inline void copy_out_of(u64 page, u64 offset, u8* to, u64 count) {
  const bool words = ((offset | reinterpret_cast<u64>(to)) & 7) == 0;
  u64 i = 0;
  for (; words && i + 8 <= count; i += 8) {
    *reinterpret_cast<u64*>(to + i) = load_global<u64>(lane_byte(page, offset + i));
  }
  for (; i < count; ++i) to[i] = load_global<u8>(lane_byte(page, offset + i));
}
inline void copy_into(u64 page, u64 offset, const u8* from, u64 count) {
  const bool words = ((offset | reinterpret_cast<u64>(from)) & 7) == 0;
  u64 i = 0;
  for (; words && i + 8 <= count; i += 8) {
    store_global(lane_byte(page, offset + i), *reinterpret_cast<const u64*>(from + i));
  }
  for (; i < count; ++i) store_global(lane_byte(page, offset + i), from[i]);
}

// The same for whatever page it is. Shared pages lie in one piece.
inline void LaneMemory::read_page(u64 entry, u64 offset, u8* to, u64 count) const {
  const u64 page = entry & kEntryAddress;
  if (!(entry & kEntryShared)) return copy_out_of(page, offset, to, count);
  SharedBytes(space_->world->shared_locks).load(lane_byte(page, offset), to, count);
}
inline void LaneMemory::write_page(u64 entry, u64 offset, const u8* from, u64 count) const {
  const u64 page = entry & kEntryAddress;
  if (!(entry & kEntryShared)) return copy_into(page, offset, from, count);
  SharedBytes(space_->world->shared_locks).store(lane_byte(page, offset), from, count);
}

SlowAccess LaneMemory::read_slow(u64 address, void* to, u32 size) {
  u8* const bytes = static_cast<u8*>(to);
  return each_page(address, size, Access::kRead, [&](const Resolved& page, u64 offset, u64 done, u64 count) {
    read_page(page.entry, offset, bytes + done, count);
  });
}

SlowAccess LaneMemory::write_slow(u64 address, const void* from, u32 size) {
  const u8* const bytes = static_cast<const u8*>(from);
  return each_page(address, size, Access::kWrite, [&](const Resolved& page, u64 offset, u64 done, u64 count) {
    write_page(page.entry, offset, bytes + done, count);
    if (page.entry & kEntryWatched) note_write((address + done) & kUntagged, count);
  });
}

SlowAccess LaneMemory::exchange_slow(u64 address, const void* expected, const void* desired, void* observed, u32 size) {
  const Resolved page = resolve(address, Access::kRead);
  if (page.trap != Trap::kNone) return {page.trap, address};
  if (page.entry & kEntryShared) {
    const Resolved target = resolve(address, Access::kWrite);
    if (target.trap != Trap::kNone) return {target.trap, address};
    u8* const at = lane_byte(target.page, address & (kPageSize - 1));
    SharedBytes(space_->world->shared_locks).compare_exchange(at, expected, desired, observed, size);
    return {Trap::kNone, 0};
  }
  const SlowAccess seen = read_slow(address, observed, size);
  if (seen.trap != Trap::kNone) return seen;
  // Asks for write permission in any case: writes back what was there if the comparison fails.
  bool equal = true;
  for (u32 i = 0; i < size; ++i) {
    equal &= static_cast<const u8*>(observed)[i] == static_cast<const u8*>(expected)[i];
  }
  return write_slow(address, equal ? desired : observed, size);
}

bool LaneMemory::read(u64 address, void* to, u64 size) {
  return accessible(address, size, kRead) == size && peek(address, to, size);
}

bool LaneMemory::write(u64 address, const void* from, u64 size) {
  return accessible(address, size, kWrite) == size && poke(address, from, size);
}

bool LaneMemory::peek(u64 address, void* to, u64 size) {
  u8* const bytes = static_cast<u8*>(to);
  for (u64 done = 0; done < size;) {
    const u64 at = (address + done) & kUntagged;
    const Area* area = at < kAddressLimit ? space_->areas.find(at) : nullptr;
    if (!area) return false;
    const Slot slot = find_slot(at >> kPageShift, false);
    const u64 entry = slot.entry && *slot.entry & kEntryPresent ? *slot.entry : untouched_entry(*area, at);
    const u64 offset = at & (kPageSize - 1);
    const u64 count = size - done < kPageSize - offset ? size - done : kPageSize - offset;
    read_page(entry, offset, bytes + done, count);
    done += count;
  }
  return true;
}

bool LaneMemory::poke(u64 address, const void* from, u64 size) {
  const u8* const bytes = static_cast<const u8*>(from);
  if (size != 0) {
    const u64 first = address & kUntagged & ~(kPageSize - 1);
    const u64 last = ((address & kUntagged) + size - 1) & ~(kPageSize - 1);
    if (last >= kAddressLimit || !space_->areas.is_mapped(first, last - first + kPageSize)) return false;
  }
  for (u64 done = 0; done < size;) {
    const u64 at = (address + done) & kUntagged;
    u64 entry = untouched_entry(*space_->areas.find(at), at);
    if (entry & kEntryShared) {
      if ((entry & (kEntryExecute | kEntryWrite)) == kEntryExecute)
        sync::store<sync::kRelaxed, sync::kDevice>(&space_->world->shared_code_written, 1u);
    } else {
      const Slot slot = find_slot(at >> kPageShift, true);
      if (!slot.entry) return false;
      if (!(*slot.entry & kEntryPresent)) *slot.entry = entry;
      if (!(*slot.entry & kEntryPrivate) && !make_private(at, *slot.entry, *slot.page)) return false;
      note_private(at);
      entry = *slot.entry;
    }
    const u64 offset = at & (kPageSize - 1);
    const u64 count = size - done < kPageSize - offset ? size - done : kPageSize - offset;
    write_page(entry, offset, bytes + done, count);
    if (entry & kEntryWatched) note_write(at, count);
    done += count;
  }
  forget_pages();
  return true;
}

bool LaneMemory::show(u64 address, u64 source) {
  const Area* area = space_->areas.find(address);
  const Slot slot = area ? find_slot(address >> kPageShift, true) : Slot{nullptr, nullptr};
  if (!slot.entry) return false;
  if (*slot.entry & kEntryCopied) space_->window.release(*slot.entry & kEntryAddress);
  *slot.entry = shown_entry(*area, source) | kEntryCounted;
  ++space_->private_pages;
  if (source != (untouched_entry(*area, address) & kEntryAddress)) note_private(address);
  space_->watch.forget_page(address);
  ++space_->changes;
  return true;
}

u64 LaneMemory::accessible(u64 tagged, u64 size, u32 protection) {
  u64 done = 0;
  while (done < size) {
    const u64 at = (tagged + done) & kUntagged;
    const Area* area = at < kAddressLimit ? space_->areas.find(at) : nullptr;
    if (!area || (area->protection & protection) != protection) break;
    const u64 rest = area->end - at;
    done = size - done < rest ? size : done + rest;
  }
  return done;
}

// Forgets the pages of a range whose areas change.
inline void LaneMemory::drop_pages(u64 address, u64 size) {
  sync::fence<sync::kAcqRel, sync::kDevice>();
  for_each_entry(address, size, [&](u64, u64& entry, GroupPage& page) { drop(entry, page); });
  map_changed();
}

bool LaneMemory::map(u64 address, u64 size, u32 protection) { return map_backed(address, size, protection, {}); }

bool LaneMemory::map_backed(u64 address, u64 size, u32 protection, const Backing& backing) {
  if (space_->world->shares_memory || !space_->areas.map_backed(address, size, protection, backing)) return false;
  drop_pages(address, size);
  return true;
}

bool LaneMemory::unmap(u64 address, u64 size) {
  if (space_->world->shares_memory || !space_->areas.unmap(address, size)) return false;
  drop_pages(address, size);
  return true;
}

bool LaneMemory::protect(u64 address, u64 size, u32 protection) {
  if (space_->world->shares_memory || !space_->areas.may_change(address, size) || !space_->areas.has_room())
    return false;
  const bool whole = space_->areas.protect(address, size, protection);
  for_each_entry(address, size, [&](u64, u64& entry, GroupPage&) {
    entry = (entry & ~kEntryPermissions) | u64{protection & 7u} << kEntryPermissionShift;
  });
  map_changed();
  return whole;
}

// Copies of the private pages of a range at another address, where nothing is mapped. Each belongs to the lane twice
// then, and counts twice, but the limit is not asked: the old ones go. False: no memory, and nothing has changed.
inline bool LaneMemory::copy_pages(u64 from, u64 size, u64 to) {
  bool whole = true;
  for_each_entry(from, size, [&](u64 address, u64& entry, GroupPage&) {
    const Slot target = whole ? find_slot((address - from + to) >> kPageShift, true) : Slot{nullptr, nullptr};
    if (!target.entry) {
      whole = false;
    } else if (entry & kEntryPrivate && moves_by_copying(address - from + to)) {
      const u32 counted = space_->private_pages;
      space_->private_pages = 0;
      *target.entry = entry & ~kEntryPrivate;
      whole = make_private(address - from + to, *target.entry, *target.page);
      if (!whole) *target.entry = 0;
      space_->private_pages = counted + whole;
    }
  });
  if (!whole) for_each_entry(to, size, [&](u64, u64& entry, GroupPage& page) { drop(entry, page); });
  return whole;
}

// A private page moves by copying: its frame belongs to its address. Only a lane that shares no frames takes them
// along, but into its window pages are copied where their places are free.
bool LaneMemory::move(u64 from, u64 from_size, u64 to, u64 to_size) {
  if (space_->world->shares_memory || !space_->areas.may_move(from, from_size, to, to_size) ||
      !space_->areas.has_room())
    return false;
  drop_pages(to, to_size);
  const u64 kept = from_size < to_size ? from_size : to_size;
  if (!copy_pages(from, kept, to)) return false;
  for_each_entry(from, from_size, [&](u64 address, u64& entry, GroupPage& page) {
    const bool stays = address - from < kept;
    const Slot target = stays ? find_slot((address - from + to) >> kPageShift, false) : Slot{nullptr, nullptr};
    if (stays && !(*target.entry & kEntryPrivate)) {  // not copied
      *target.entry = entry;
      if (entry & kEntryPrivate) {
        target.page->state = page.state;
        page.state = 0;
      }
      entry = 0;
    } else {
      drop(entry, page);
    }
  });
  space_->areas.move(from, from_size, to, to_size);
  map_changed();
  return true;
}

bool LaneMemory::discard(u64 address, u64 size) {
  if (space_->world->shares_memory || !valid_range(address, size)) return false;
  drop_pages(address, size);
  return is_mapped(address, size);
}

template <class Visit>
void LaneMemory::for_each_private(Visit visit) {
  for_each_table([&](GroupTable& table) {
    for_each_page(table, [&](u64 address, u64& entry, GroupPage&) {
      if (entry & (kEntryPrivate | kEntryCounted))
        visit(address, entry & kEntryAddress, (entry & (kEntryPrivate | kEntryCopied)) != 0);
    });
  });
}

void LaneMemory::clear() {
  sync::fence<sync::kAcqRel, sync::kDevice>();
  for_each_table(
      [&](GroupTable& table) { for_each_page(table, [&](u64, u64& entry, GroupPage& page) { drop(entry, page); }); });
  map_changed();
}

}  // namespace kvrm::memory
