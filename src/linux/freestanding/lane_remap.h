// mremap, as Linux 6.1 does it.
#pragma once

#include "linux/freestanding/lane_map.h"

namespace kvrm::linux_abi {

enum RemapFlag : u32 { kMayMove = 1, kRemapFixed = 2, kDontUnmap = 4 };

namespace lane {

struct Remap {
  u64 address, old_size, new_size, target;
  u32 flags;
};

constexpr bool is_private_anonymous(const memory::Area& area) {
  return (area.flags & (memory::kAreaSource | memory::kAreaShared | memory::kAreaBacked)) == 0;
}

// Whether Linux would have made one mapping of two neighboring areas.
constexpr bool continues(const memory::Area& area, const memory::Area& next) {
  constexpr u32 kKind = memory::kAreaSource | memory::kBackingFlags;
  if (area.end != next.start || area.protection != next.protection) return false;
  if ((area.flags & kKind) != (next.flags & kKind) || area.image != next.image) return false;
  return (area.flags & (memory::kAreaSource | memory::kAreaBacked)) == 0 ||
         next.source - area.source == next.start - area.start;
}

// Whether the bytes from `start`, which lies in `area`, to `end` are one mapping.
template <class Memory>
bool is_one_mapping(Memory& memory, memory::Area area, u64 end) {
  while (area.end < end) {
    memory::Area next;
    if (!memory.next_area(area.end, next) || !continues(area, next)) return false;
    area = next;
  }
  return true;
}

// What Linux finds wrong before it reads the map. Sizes wrap, as its do.
template <class Call>
i64 remap_arguments(const Call& call, Remap& remap) {
  const u32 flags = call.uint_arg(3);
  remap = {untagged(call.a[0]), page_up(call.a[1]), page_up(call.a[2]), call.a[4], flags};
  if ((flags & ~u32{kMayMove | kRemapFixed | kDontUnmap}) != 0) return -kEinval;
  if ((flags & (kRemapFixed | kDontUnmap)) && !(flags & kMayMove)) return -kEinval;
  if ((flags & kDontUnmap) && call.a[1] != call.a[2]) return -kEinval;
  return remap.address % memory::kPageSize != 0 || remap.new_size == 0 ? -kEinval : 0;
}

// Whether the old range may be moved or grow: 0 or -errno. `area` is the one at its start.
template <class Call>
i64 check_resize(Call& call, const Remap& remap, const memory::Area& area) {
  // An old size of 0 duplicates a shared mapping, and DONTUNMAP leaves one where it was: no page can be at two
  // addresses here. Nor do the program's own pages (kAreaSource) come a second time.
  constexpr u32 kOnlyOnce = memory::kAreaShared | memory::kAreaSource;
  if (remap.old_size == 0 || ((remap.flags & kDontUnmap) && (area.flags & kOnlyOnce))) return -kEinval;
  if (remap.old_size > memory::kAddressLimit - remap.address) return -kEfault;
  return is_one_mapping(call.memory, area, remap.address + remap.old_size) ? 0 : -kEfault;
}

// What a mapping that begins at the address must be made from to go on with an area.
constexpr memory::Backing backing_at(const memory::Area& area, u64 address) {
  return {area.flags & memory::kBackingFlags, area.image, area.source + (address - area.start)};
}

// Pages after the old range, of the same mapping.
template <class Call>
bool map_growth(Call& call, const Remap& remap, u64 to) {
  const u64 old_end = remap.address + remap.old_size, size = remap.new_size - remap.old_size;
  memory::Area last;
  if (size == 0) return true;
  if (!call.memory.next_area(old_end - 1, last)) return false;
  return call.memory.map_backed(to, size, last.protection, backing_at(last, old_end));
}

// `area` is the one at the old address.
template <class Call>
i64 move_mapping(Call& call, const Remap& remap, const memory::Area& area, u64 to) {
  if (!map_growth(call, remap, to + remap.old_size)) return -kEnomem;
  if (!call.memory.move(remap.address, remap.old_size, to, remap.old_size)) {
    if (remap.new_size > remap.old_size) (void)call.memory.unmap(to + remap.old_size, remap.new_size - remap.old_size);
    return -kEnomem;
  }
  if (!(remap.flags & kDontUnmap)) return i64(to);
  // The old range begins anew: with zeros, or with its file.
  const memory::Backing backing = backing_at(area, remap.address);
  return call.memory.map_backed(remap.address, remap.old_size, area.protection, backing) ? i64(to) : -kEnomem;
}

// MREMAP_FIXED and MREMAP_DONTUNMAP. What was at the target goes even if the move fails then.
template <class Call>
i64 remap_to(Call& call, Remap remap, const memory::Area& area) {
  const u64 target = remap.target;
  if (target % memory::kPageSize != 0 || remap.new_size > memory::kAddressLimit ||
      target > memory::kAddressLimit - remap.new_size)
    return -kEinval;
  if (remap.address + remap.old_size > target && target + remap.new_size > remap.address) return -kEinval;
  if (remap.flags & kRemapFixed)
    if (const i64 error = unmap_range(call, target, remap.new_size)) return error;
  if (remap.old_size > remap.new_size) {
    const u64 extra = remap.old_size - remap.new_size;
    if (const i64 error = unmap_range(call, remap.address + remap.new_size, extra)) return error;
    remap.old_size = remap.new_size;
  }
  if (const i64 error = check_resize(call, remap, area)) return error;
  const i64 address =
      choose_address(call.memory, target, remap.new_size, remap.flags & kRemapFixed ? u32{kMapFixed} : 0);
  return address < 0 ? address : move_mapping(call, remap, area, u64(address));
}

template <class Call>
i64 mremap(Call& call) {
  Remap remap;
  if (const i64 error = remap_arguments(call, remap)) return error;
  memory::Area area;
  if (!call.memory.next_area(remap.address, area) || area.start > remap.address) return -kEfault;
  const bool to_target = (remap.flags & (kRemapFixed | kDontUnmap)) != 0;
  // All that may change, so that nothing has when the host is asked.
  if (call.memory.is_hosts(remap.address, remap.old_size != 0 ? remap.old_size : 1)) return kNeedsHost;
  if (to_target && call.memory.is_hosts(remap.target, remap.new_size)) return kNeedsHost;

  if (to_target) return remap_to(call, remap, area);
  if (remap.old_size >= remap.new_size) {
    // Linux does not ask whether all of the old range is mapped.
    const u64 surplus = remap.old_size - remap.new_size;
    const i64 error = surplus == 0 ? 0 : unmap_range(call, remap.address + remap.new_size, surplus);
    return error != 0 ? error : i64(remap.address);
  }
  if (const i64 error = check_resize(call, remap, area)) return error;
  const u64 end = remap.address + remap.old_size, extra = remap.new_size - remap.old_size;
  if (extra <= memory::kAddressLimit && end <= memory::kAddressLimit - extra && call.memory.is_free(end, extra))
    return map_growth(call, remap, end) ? i64(remap.address) : -kEnomem;
  if (!(remap.flags & kMayMove)) return -kEnomem;
  const i64 address = find_room(call.memory, remap.new_size);
  return address < 0 ? address : move_mapping(call, remap, area, u64(address));
}

}  // namespace lane
}  // namespace kvrm::linux_abi
