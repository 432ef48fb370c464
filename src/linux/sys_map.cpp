// mmap: files here, everything else in lane_map.h.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/host_io.h"
#include "linux/lane_host.h"
#include "linux/lane_map.h"

namespace kvrm::linux_abi {
namespace {

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
  if (type != kMapPrivate && (protection & memory::kWrite)) {
    if (!file->writable()) return -EACCES;
    // Writes would have to reach the file: this machine's pages are its own.
    if (!zeros) return -ENODEV;
  }
  return 0;
}

}  // namespace

i64 sys_mmap(Kernel& kernel, Call& call) {
  HostMemory memory(call.memory);
  auto common = lane_side(kernel, call, memory);
  const u32 flags = call.uint_arg(3), protection = guest_protection(call.uint_arg(2));
  if (flags & kMapAnonymous) return lane::mmap_anonymous(common);
  const u64 offset = call.a[5];
  if (offset % memory::kPageSize != 0) return -EINVAL;
  const auto file = kernel.files.get(call.a[4]);
  if (!file) return -EBADF;
  u64 size = 0;
  const i64 address = lane::place_mapping(common, size);
  if (address < 0) return address;
  if (const i64 error = check_file(file, flags & kMapType, protection, offset, size)) return error;
  if (!call.memory.map(u64(address), size, protection)) return -ENOMEM;
  if (file->kind == OpenFile::Kind::kFile && !fill_from_file(kernel, call, *file, u64(address), size, offset)) {
    (void)call.memory.unmap(u64(address), size);
    return -ENOMEM;
  }
  return address;
}

}  // namespace kvrm::linux_abi
