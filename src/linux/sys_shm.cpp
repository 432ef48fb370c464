// System V shared memory: shmget, shmat, shmdt, shmctl. A segment can be attached once at a time, since no page can be
// at two addresses.
#include <algorithm>
#include <cerrno>

#include "linux/freestanding/lane_map.h"
#include "linux/lane_host.h"

namespace kvrm::linux_abi {
namespace {

constexpr i32 kPrivateKey = 0;
enum GetFlag : u32 { kCreate = 01000, kExclusive = 02000, kHuge = 04000, kPermissions = 0777 };
enum AttachFlag : u32 { kReadOnly = 010000, kRound = 020000, kRemap = 040000, kExecute = 0100000 };
enum Command : i32 {
  kRemove = 0,
  kSet = 1,
  kStat = 2,
  kInfo = 3,
  kLock = 11,
  kUnlock = 12,
  kStatByIndex = 13,
  kUsage = 14,
  kStatByIndexAny = 15,
};
constexpr u64 kLargestSegment = ~u64{0} - (u64{1} << 24);  // SHMMAX
constexpr u32 kReadBits = 0444, kWriteBits = 0222, kExecuteBits = 0111;

i64 seconds_now(const Kernel& kernel, const Call& call) { return i64(kernel.clock.realtime_ns(call.cpu) / kSecond); }

// Everything is the process's own; only the owner's bits count.
bool may_access(const Kernel& kernel, const Segment& segment, u32 wanted) {
  const u32 bits = (wanted >> 6 | wanted >> 3 | wanted) & 7;
  return kernel.uid == 0 || (bits & ~(segment.mode >> 6)) == 0;
}

i64 make_segment(Kernel& kernel, Call& call, i32 key, u64 size, u32 flags) {
  if (size == 0 || size > kLargestSegment) return -EINVAL;
  if (flags & kHuge) return -EPERM;
  if (size > kernel.options.memory_limit) return -ENOMEM;
  Segment segment;
  segment.key = key;
  segment.size = size;
  segment.mode = flags & kPermissions;
  segment.uid = segment.creator_uid = kernel.uid;
  segment.gid = segment.creator_gid = kernel.gid;
  segment.change_time = seconds_now(kernel, call);
  segment.creator = kPid;
  const auto number = kernel.segments.add(std::move(segment));
  return number ? *number : -ENOSPC;
}

// The address to attach at: -errno, 0 for any, or the one asked for. `fixed`: it was asked for.
i64 attach_address(u64 wanted, u32 flags, bool& fixed) {
  fixed = wanted != 0;
  if (!fixed) return flags & kRemap ? -EINVAL : 0;
  if (wanted % memory::kPageSize == 0) return i64(wanted);
  if (!(flags & kRound)) return -EINVAL;
  wanted = page_down(wanted);
  return wanted == 0 && (flags & kRemap) ? -EINVAL : i64(wanted);
}

bool intersects(const memory::GuestMemory& memory, u64 address, u64 size) {
  const auto area = memory.next_area(address);
  return area && area->start < address + size;
}

GuestShmid describe(const Segment& segment, i32 number, u64 attached) {
  GuestShmid result{};
  result.permissions.key = segment.key;
  result.permissions.uid = segment.uid;
  result.permissions.gid = segment.gid;
  result.permissions.creator_uid = segment.creator_uid;
  result.permissions.creator_gid = segment.creator_gid;
  result.permissions.mode = segment.mode;
  result.permissions.sequence = u16(number / Segments::kIndexes);
  result.size = segment.size;
  result.attach_time = segment.attach_time;
  result.detach_time = segment.detach_time;
  result.change_time = segment.change_time;
  result.creator = segment.creator;
  result.last_user = segment.last_user;
  result.attached = attached;
  return result;
}

i64 put_segment(Kernel& kernel, Call& call, i32 number, i64 result, bool checks) {
  const Segment& segment = *kernel.segments.find(number);
  if (checks && !may_access(kernel, segment, kReadBits)) return -EACCES;
  const GuestShmid text = describe(segment, number, Segments::attached(call.memory, number));
  return copy_out(call.memory, call.a[2], text) ? result : -EFAULT;
}

i64 set_segment(Kernel& kernel, Call& call, i32 number) {
  GuestShmid wanted{};
  if (!copy_in(call.memory, call.a[2], wanted)) return -EFAULT;
  Segment* segment = kernel.segments.find(number);
  if (!segment) return -EINVAL;
  segment->uid = wanted.permissions.uid;
  segment->gid = wanted.permissions.gid;
  segment->mode = (segment->mode & ~u32{kPermissions}) | (wanted.permissions.mode & kPermissions);
  segment->change_time = seconds_now(kernel, call);
  return 0;
}

// IPC_INFO and SHM_INFO: what there may be and what there is. The result is the highest index in use.
i64 put_totals(Kernel& kernel, Call& call, i32 command) {
  i32 highest = 0;
  u64 pages = 0;
  for (const auto& [number, segment] : kernel.segments.all()) {
    highest = std::max(highest, number % Segments::kIndexes);
    pages += page_up(segment.size) / memory::kPageSize;
  }
  bool copied = false;
  if (command == kInfo) {
    const GuestShmLimits limits{kLargestSegment, 1, u64{Segments::kMostSegments}, u64{Segments::kMostSegments},
                                kLargestSegment, {}};
    copied = copy_out(call.memory, call.a[2], limits);
  } else {
    const GuestShmUsage usage{i32(kernel.segments.all().size()), 0, pages, 0, 0, 0, 0};
    copied = copy_out(call.memory, call.a[2], usage);
  }
  return copied ? highest : -EFAULT;
}

i64 put_by_index(Kernel& kernel, Call& call, i32 index, i32 command) {
  for (const auto& [number, segment] : kernel.segments.all())
    if (number % Segments::kIndexes == index) return put_segment(kernel, call, number, number, command == kStatByIndex);
  return -EINVAL;
}

void remove_segment(Kernel& kernel, Call& call, Segment& segment) {
  // The segment lives until its last detach; its key is free at once.
  segment.mode |= kSegmentRemoved;
  segment.key = kPrivateKey;
  kernel.segments.sweep(call.memory);
}

}  // namespace

i64 sys_shmget(Kernel& kernel, Call& call) {
  const i32 key = call.int_arg(0);
  const u32 flags = call.uint_arg(2);
  kernel.segments.sweep(call.memory);
  if (key == kPrivateKey) return make_segment(kernel, call, key, call.a[1], flags);
  const auto found = kernel.segments.find_key(key);
  if (!found) return flags & kCreate ? make_segment(kernel, call, key, call.a[1], flags) : -ENOENT;
  if ((flags & (kCreate | kExclusive)) == (kCreate | kExclusive)) return -EEXIST;
  const Segment& segment = *kernel.segments.find(*found);
  if (segment.size < call.a[1]) return -EINVAL;
  return may_access(kernel, segment, flags) ? *found : -EACCES;
}

i64 sys_shmat(Kernel& kernel, Call& call) {
  const i32 number = call.int_arg(0);
  const u32 flags = call.uint_arg(2);
  bool fixed = false;
  const i64 wanted = attach_address(call.a[1], flags, fixed);
  if (number < 0 || wanted == -EINVAL) return -EINVAL;
  kernel.segments.sweep(call.memory);
  Segment* segment = kernel.segments.find(number);
  if (!segment) return -EINVAL;
  const u32 access = kReadBits | (flags & kReadOnly ? 0u : kWriteBits) | (flags & kExecute ? kExecuteBits : 0u);
  if (!may_access(kernel, *segment, access)) return -EACCES;
  if (Segments::attached(call.memory, number) != 0) return -ENOMEM;
  const u64 size = page_up(segment->size);
  if (fixed && wanted != 0 && !(flags & kRemap))
    if (u64(wanted) + size < u64(wanted) || intersects(call.memory, u64(wanted), size)) return -EINVAL;

  ProcessMemory memory(kernel, call);
  const i64 address = lane::choose_address(memory, u64(wanted), size, fixed ? u32{kMapFixed} : 0);
  if (address < 0) return address;
  const u32 protection =
      memory::kRead | (flags & kReadOnly ? 0u : u32{memory::kWrite}) | (flags & kExecute ? u32{memory::kExecute} : 0u);
  const memory::Backing backing{
      memory::kAreaShared | memory::kAreaBacked | (flags & kReadOnly ? u32{memory::kAreaReadOnly} : 0u),
      Segments::area_id(number), 0};
  if (!memory.map_backed(u64(address), size, protection, backing)) return -ENOMEM;
  segment->attach_time = seconds_now(kernel, call);
  segment->last_user = kPid;
  return address;
}

// All areas that lie where an attachment at that address would have put them, as far as the segment reaches.
i64 sys_shmdt(Kernel& kernel, Call& call) {
  const u64 address = call.a[0];
  if (address % memory::kPageSize != 0) return -EINVAL;
  u64 id = 0, end = ~u64{0};
  ProcessMemory memory(kernel, call);
  memory::Area area;
  for (u64 at = address; memory.next_area(at, area) && area.end <= end; at = area.end) {
    const Segment* segment = kernel.segments.of(area);
    if (!segment || area.start - area.source != address || (id != 0 && area.image != id)) continue;
    if (id == 0) end = address + page_up(segment->size);
    id = area.image;
    if (!memory.unmap(area.start, area.end - area.start)) return -ENOMEM;
  }
  kernel.segments.sweep(call.memory);
  return id != 0 ? 0 : -EINVAL;
}

i64 sys_shmctl(Kernel& kernel, Call& call) {
  const i32 number = call.int_arg(0), command = call.int_arg(1);
  if (number < 0 || command < 0) return -EINVAL;
  kernel.segments.sweep(call.memory);
  switch (command) {
    case kInfo:
    case kUsage: return put_totals(kernel, call, command);
    case kStatByIndex:
    case kStatByIndexAny: return put_by_index(kernel, call, number, command);
    case kSet: return set_segment(kernel, call, number);
    default: break;
  }
  Segment* segment = kernel.segments.find(number);
  if (!segment) return -EINVAL;
  switch (command) {
    case kRemove: remove_segment(kernel, call, *segment); return 0;
    case kStat: return put_segment(kernel, call, number, 0, true);
    case kLock: segment->mode |= kSegmentLocked; return 0;
    case kUnlock: segment->mode &= ~u32{kSegmentLocked}; return 0;
    default: return -EINVAL;
  }
}

}  // namespace kvrm::linux_abi
