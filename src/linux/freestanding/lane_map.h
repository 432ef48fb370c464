// brk, mmap, munmap; mremap is in lane_remap.h.
#pragma once

#include "linux/freestanding/lane_context.h"
#include "linux/freestanding/layout.h"
#include "memory/freestanding/areas.h"

namespace kvrm::linux_abi {

enum MapFlag : u32 {
  kMapShared = 1,
  kMapPrivate = 2,
  kMapSharedValidate = 3,
  kMapType = 15,
  kMapFixed = 0x10,
  kMapAnonymous = 0x20,
  kMapHugePages = 0x40000,
  kMapFixedNoReplace = 0x100000,
};

namespace lane {

// Below the stack; what is too large for that goes above everything else.
template <class Memory>
i64 find_room(Memory& memory, u64 size) {
  u64 found = memory.find_free(size, kLowestAddress, kMmapTop);
  if (found == memory::kNoRoom) found = memory.find_free(size, kTrampoline + memory::kPageSize, memory::kAddressLimit);
  return found == memory::kNoRoom ? -kEnomem : i64(found);
}

// Where a mapping goes: -errno or the address. `size` is whole pages, at most kAddressLimit.
template <class Memory>
i64 choose_address(Memory& memory, u64 hint, u64 size, u32 flags) {
  if (flags & (kMapFixed | kMapFixedNoReplace)) {
    if (hint % memory::kPageSize != 0) return -kEinval;
    if (hint > memory::kAddressLimit - size) return -kEnomem;
    if (hint < kLowestAddress) return -kEperm;
    if ((flags & kMapFixedNoReplace) && !memory.is_free(hint, size)) return -kEexist;
    return i64(hint);
  }
  if (hint >= kLowestAddress && hint <= memory::kAddressLimit - size) {
    const u64 start = page_up(hint);
    if (start <= memory::kAddressLimit - size && memory.is_free(start, size)) return i64(start);
  }
  return find_room(memory, size);
}

// mmap's rules about everything but the file: -errno or the address, and the size in whole pages.
template <class Call>
i64 mapping_address(Call& call, u64& size) {
  const u32 flags = call.uint_arg(3), type = flags & kMapType;
  if (call.a[1] == 0) return -kEinval;
  if (call.a[1] > memory::kAddressLimit) return -kEnomem;
  size = page_up(call.a[1]);
  if (type != kMapShared && type != kMapPrivate && type != kMapSharedValidate) return -kEinval;
  if (flags & kMapHugePages) return -kEnomem;  // none are reserved
  return choose_address(call.memory, call.a[0], size, flags);
}

template <class Call>
i64 mmap_anonymous(Call& call) {
  if (call.a[5] % memory::kPageSize != 0) return -kEinval;
  u64 size = 0;
  const i64 address = mapping_address(call, size);
  if (address < 0) return address;
  if (call.memory.is_hosts(u64(address), size)) return kNeedsHost;
  // With one process, shared anonymous memory is private memory, but advice means something else there.
  const memory::Backing backing{(call.uint_arg(3) & kMapType) == kMapPrivate ? 0 : u32{memory::kAreaShared}, 0, 0};
  const u32 protection = guest_protection(call.uint_arg(2));
  return call.memory.map_backed(u64(address), size, protection, backing) ? address : -kEnomem;
}

// 0 or -errno.
template <class Call>
i64 unmap_range(Call& call, u64 address, u64 size) {
  if (size > memory::kAddressLimit || address > memory::kAddressLimit - size) return -kEinval;
  if (call.memory.is_hosts(address, size)) return kNeedsHost;
  return call.memory.unmap(address, size) ? 0 : -kEnomem;
}

template <class Call>
i64 brk(Call& call) {
  LaneProcess& process = call.process;
  const u64 wanted = call.a[0];
  if (wanted < process.brk_start || wanted > kMmapTop) return i64(process.brk);
  const u64 old_end = page_up(process.brk), new_end = page_up(wanted);
  if (new_end > old_end) {
    const u64 size = new_end - old_end;
    if (!call.memory.is_free(old_end, size) || !call.memory.map(old_end, size, memory::kRead | memory::kWrite))
      return i64(process.brk);
  } else if (new_end < old_end) {
    if (const i64 error = unmap_range(call, new_end, old_end - new_end))
      return error == kNeedsHost ? error : i64(process.brk);
  }
  process.brk = wanted;
  return i64(wanted);
}

template <class Call>
i64 munmap(Call& call) {
  const u64 address = untagged(call.a[0]);
  if (address % memory::kPageSize != 0 || call.a[1] == 0 || call.a[1] > memory::kAddressLimit) return -kEinval;
  return unmap_range(call, address, page_up(call.a[1]));
}

}  // namespace lane
}  // namespace kvrm::linux_abi
