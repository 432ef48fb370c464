// brk, mmap, munmap, mremap.
#pragma once

#include "linux/lane_context.h"
#include "linux/layout.h"
#include "linux/protection.h"
#include "memory/areas.h"

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
enum RemapFlag : u32 { kMayMove = 1, kRemapFixed = 2, kDontUnmap = 4 };

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
i64 place_mapping(Call& call, u64& size) {
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
  const i64 address = place_mapping(call, size);
  if (address < 0) return address;
  // With one process, shared anonymous memory is private memory.
  return call.memory.map(u64(address), size, guest_protection(call.uint_arg(2))) ? address : -kEnomem;
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
  } else if (new_end < old_end && !call.memory.unmap(new_end, old_end - new_end)) {
    return i64(process.brk);
  }
  process.brk = wanted;
  return i64(wanted);
}

template <class Call>
i64 munmap(Call& call) {
  const u64 address = untagged(call.a[0]);
  if (address % memory::kPageSize != 0 || call.a[1] == 0 || call.a[1] > memory::kAddressLimit) return -kEinval;
  const u64 size = page_up(call.a[1]);
  if (address > memory::kAddressLimit - size) return -kEinval;
  return call.memory.unmap(address, size) ? 0 : -kEnomem;
}

template <class Call>
i64 find_new_place(Call& call, u64 address, u64 old_size, u64 new_size, u32 flags) {
  const u64 wanted = call.a[4];
  if (!(flags & kRemapFixed)) return find_room(call.memory, new_size);
  if (wanted % memory::kPageSize != 0 || wanted > memory::kAddressLimit - new_size) return -kEinval;
  if (wanted < kLowestAddress) return -kEperm;
  if (wanted < address + old_size && address < wanted + new_size) return -kEinval;
  return call.memory.unmap(wanted, new_size) ? i64(wanted) : -kEnomem;
}

template <class Call>
i64 mremap(Call& call) {
  const u64 address = untagged(call.a[0]);
  const u32 flags = call.uint_arg(3);
  if ((flags & ~u32{kMayMove | kRemapFixed | kDontUnmap}) != 0) return -kEinval;
  if ((flags & (kRemapFixed | kDontUnmap)) && !(flags & kMayMove)) return -kEinval;
  if (flags & kDontUnmap) return -kEinval;  // as kernels before 5.7
  if (address % memory::kPageSize != 0) return -kEinval;
  if (call.a[1] > memory::kAddressLimit || call.a[2] > memory::kAddressLimit) return -kEinval;
  const u64 old_size = page_up(call.a[1]), new_size = page_up(call.a[2]);
  if (new_size == 0 || old_size == 0 || address > memory::kAddressLimit - old_size) return -kEinval;
  if (!call.memory.is_mapped(address, old_size)) return -kEfault;

  if (!(flags & kRemapFixed)) {
    if (new_size <= old_size) {
      if (new_size < old_size && !call.memory.unmap(address + new_size, old_size - new_size)) return -kEnomem;
      return i64(address);
    }
    const u64 end = address + old_size, extra = new_size - old_size;
    if (end <= memory::kAddressLimit - extra && call.memory.is_free(end, extra))
      return call.memory.map(end, extra, call.memory.protection_at(end - 1)) ? i64(address) : -kEnomem;
    if (!(flags & kMayMove)) return -kEnomem;
  }
  const u32 protection = call.memory.protection_at(address + old_size - 1);
  const i64 place = find_new_place(call, address, old_size, new_size, flags);
  if (place < 0) return place;
  const u64 kept = least(old_size, new_size);
  if (old_size > kept && !call.memory.unmap(address + kept, old_size - kept)) return -kEnomem;
  if (new_size > kept && !call.memory.map(u64(place) + kept, new_size - kept, protection)) return -kEnomem;
  if (call.memory.move(address, kept, u64(place), kept)) return place;
  if (new_size > kept) (void)call.memory.unmap(u64(place) + kept, new_size - kept);
  return -kEnomem;
}

}  // namespace lane
}  // namespace kvrm::linux_abi
