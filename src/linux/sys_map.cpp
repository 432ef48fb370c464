// brk, mmap, munmap, mremap.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/host_io.h"
#include "linux/kernel_state.h"
#include "linux/layout.h"
#include "linux/protection.h"

namespace kvrm::linux_abi {
namespace {

using memory::kAddressLimit;
using memory::kPageSize;

enum MapFlag : u32 {
  kShared = 1,
  kPrivate = 2,
  kSharedValidate = 3,
  kTypeMask = 15,
  kFixed = 0x10,
  kAnonymous = 0x20,
  kHugePages = 0x40000,
  kFixedNoReplace = 0x100000,
};
enum RemapFlag : u32 { kMayMove = 1, kRemapFixed = 2, kDontUnmap = 4 };

// Below the stack; what is too large for that goes above everything else.
i64 find_room(const memory::GuestMemory& memory, u64 size) {
  auto found = memory.find_free(size, kLowestAddress, kMmapTop);
  if (!found) found = memory.find_free(size, kTrampoline + kPageSize, kAddressLimit);
  return found ? i64(*found) : -ENOMEM;
}

// Where a mapping goes: -errno or the address. `size` is whole pages, at most kAddressLimit.
i64 choose_address(const memory::GuestMemory& memory, u64 hint, u64 size, u32 flags) {
  if (flags & (kFixed | kFixedNoReplace)) {
    if (hint % kPageSize != 0) return -EINVAL;
    if (hint > kAddressLimit - size) return -ENOMEM;
    if (hint < kLowestAddress) return -EPERM;
    if ((flags & kFixedNoReplace) && !memory.is_free(hint, size)) return -EEXIST;
    return i64(hint);
  }
  if (hint >= kLowestAddress && hint <= kAddressLimit - size) {
    const u64 start = page_up(hint);
    if (start <= kAddressLimit - size && memory.is_free(start, size)) return i64(start);
  }
  return find_room(memory, size);
}

// Reads the file's part into pages that are already mapped. What lies behind the file's end stays zero.
bool fill_from_file(Kernel& kernel, Call& call, OpenFile& file, u64 address, u64 size, u64 offset) {
  for (u64 done = 0; done < size;) {
    const std::size_t n = std::min<std::size_t>(size - done, kernel.buffer().size());
    const i64 got = host_read(kernel, call.cpu, file, {kernel.buffer().data(), n}, offset + done);
    if (got <= 0) return got == 0;
    if (!call.memory.poke(address + done, kernel.buffer().data(), std::size_t(got))) return false;
    done += u64(got);
  }
  return true;
}

// May this file be mapped that way? 0 or -errno.
i64 check_file(const std::shared_ptr<OpenFile>& file, u32 type, u32 protection, u64 offset, u64 size) {
  if (!file || file->path_only) return -EBADF;
  if (!file->readable()) return -EACCES;
  struct stat info{};
  if (::fstat(file->host_fd, &info) != 0) return -errno;
  const bool zeros = file->kind == OpenFile::Kind::kDevice;
  if (!zeros && !S_ISREG(info.st_mode)) return -ENODEV;
  if (offset > kForever || size > kForever - offset) return -EOVERFLOW;
  if (type != kPrivate && (protection & memory::kWrite)) {
    if (!file->writable()) return -EACCES;
    // Writes would have to reach the file: this machine's pages are its own.
    if (!zeros) return -ENODEV;
  }
  return 0;
}

i64 find_new_place(Call& call, u64 address, u64 old_size, u64 new_size, u32 flags) {
  const u64 wanted = call.a[4];
  if (!(flags & kRemapFixed)) return find_room(call.memory, new_size);
  if (wanted % kPageSize != 0 || wanted > kAddressLimit - new_size) return -EINVAL;
  if (wanted < kLowestAddress) return -EPERM;
  if (wanted < address + old_size && address < wanted + new_size) return -EINVAL;
  call.memory.unmap(wanted, new_size);
  return i64(wanted);
}

// The protection of the area an address lies in.
u32 protection_at(const memory::GuestMemory& memory, u64 address) {
  for (const auto& area : memory.areas())
    if (area.start <= address && address < area.end) return area.protection;
  return memory::kNoAccess;
}

}  // namespace

i64 sys_brk(Kernel& kernel, Call& call) {
  const u64 wanted = call.a[0];
  if (wanted < kernel.brk_start || wanted > kMmapTop) return i64(kernel.brk);
  const u64 old_end = page_up(kernel.brk), new_end = page_up(wanted);
  if (new_end > old_end) {
    const u64 size = new_end - old_end;
    if (!call.memory.is_free(old_end, size) || !call.memory.map(old_end, size, memory::kRead | memory::kWrite))
      return i64(kernel.brk);
  } else if (new_end < old_end) {
    call.memory.unmap(new_end, old_end - new_end);
  }
  kernel.brk = wanted;
  return i64(wanted);
}

i64 sys_mmap(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(3), type = flags & kTypeMask;
  const u32 protection = guest_protection(call.uint_arg(2));
  const u64 offset = call.a[5];
  if (offset % kPageSize != 0) return -EINVAL;
  std::shared_ptr<OpenFile> file;
  if (!(flags & kAnonymous)) {
    file = kernel.files.get(call.a[4]);
    if (!file) return -EBADF;
  }
  if (call.a[1] == 0) return -EINVAL;
  if (call.a[1] > kAddressLimit) return -ENOMEM;
  const u64 size = page_up(call.a[1]);
  if (type != kShared && type != kPrivate && type != kSharedValidate) return -EINVAL;
  if (flags & kHugePages) return -ENOMEM;  // none are reserved
  const i64 address = choose_address(call.memory, call.a[0], size, flags);
  if (address < 0) return address;
  if (file)
    if (const i64 error = check_file(file, type, protection, offset, size)) return error;
  // With one process, shared anonymous memory is private memory.
  if (!call.memory.map(u64(address), size, protection)) return -ENOMEM;
  if (file && file->kind == OpenFile::Kind::kFile && !fill_from_file(kernel, call, *file, u64(address), size, offset)) {
    call.memory.unmap(u64(address), size);
    return -ENOMEM;
  }
  return address;
}

i64 sys_munmap(Kernel&, Call& call) {
  const u64 address = untagged(call.a[0]);
  if (address % kPageSize != 0 || call.a[1] == 0 || call.a[1] > kAddressLimit) return -EINVAL;
  const u64 size = page_up(call.a[1]);
  if (address > kAddressLimit - size) return -EINVAL;
  call.memory.unmap(address, size);
  return 0;
}

i64 sys_mremap(Kernel&, Call& call) {
  const u64 address = untagged(call.a[0]);
  const u32 flags = call.uint_arg(3);
  if ((flags & ~u32{kMayMove | kRemapFixed | kDontUnmap}) != 0) return -EINVAL;
  if ((flags & (kRemapFixed | kDontUnmap)) && !(flags & kMayMove)) return -EINVAL;
  if (flags & kDontUnmap) return -EINVAL;  // as kernels before 5.7
  if (address % kPageSize != 0 || call.a[1] > kAddressLimit || call.a[2] > kAddressLimit) return -EINVAL;
  const u64 old_size = page_up(call.a[1]), new_size = page_up(call.a[2]);
  if (new_size == 0 || old_size == 0 || address > kAddressLimit - old_size) return -EINVAL;
  if (!call.memory.is_mapped(address, old_size)) return -EFAULT;

  if (!(flags & kRemapFixed)) {
    if (new_size <= old_size) {
      if (new_size < old_size) call.memory.unmap(address + new_size, old_size - new_size);
      return i64(address);
    }
    const u64 end = address + old_size, extra = new_size - old_size;
    if (end <= kAddressLimit - extra && call.memory.is_free(end, extra))
      return call.memory.map(end, extra, protection_at(call.memory, end - 1)) ? i64(address) : -ENOMEM;
    if (!(flags & kMayMove)) return -ENOMEM;
  }
  const u32 protection = protection_at(call.memory, address + old_size - 1);
  const i64 place = find_new_place(call, address, old_size, new_size, flags);
  if (place < 0) return place;
  const u64 kept = std::min(old_size, new_size);
  if (new_size > kept && !call.memory.map(u64(place) + kept, new_size - kept, protection)) return -ENOMEM;
  if (!call.memory.move(address, kept, u64(place), kept)) return -ENOMEM;
  if (old_size > kept) call.memory.unmap(address + kept, old_size - kept);
  return place;
}

}  // namespace kvrm::linux_abi
