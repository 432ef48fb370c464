// mmap of files, and the map as a process changes it that knows the files. Everything else is in lane_map.h.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/freestanding/lane_map.h"
#include "linux/host_io.h"
#include "linux/lane_host.h"

namespace kvrm::linux_abi {
namespace {

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

// The part of the file or segment goes into pages that are mapped already. Pages after the end stay zero.
bool ProcessMemory::fill(u64 address, u64 size, u64 id, u64 offset) {
  if (!kernel_.segments.give(memory_, id, address, offset, size)) {
    // Linux would find out when a page is touched.
    (void)kernel_.end_out_of_memory();
    return false;
  }
  const auto file = kernel_.mapped_files.find(id);
  if (!file) return true;
  for (u64 done = 0; done < size;) {
    const std::size_t n = std::min<std::size_t>(size - done, kernel_.buffer().size());
    const i64 got = host_read(kernel_, cpu_, *file, {kernel_.buffer().data(), n}, offset + done);
    if (got <= 0) return got == 0;
    if (!memory_.poke(address + done, kernel_.buffer().data(), std::size_t(got))) return false;
    done += u64(got);
  }
  return true;
}

bool ProcessMemory::map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) {
  if (!give_back(address, size)) return false;
  if (!memory_.map_backed(address, size, protection, backing)) return fill_segments(address, size);
  if (!(backing.flags & memory::kAreaBacked) || fill(address, size, backing.id, backing.offset)) return true;
  (void)memory_.unmap(address, size);
  return false;
}

bool ProcessMemory::unmap(u64 address, u64 size) {
  if (!give_back(address, size)) return false;
  return memory_.unmap(address, size) || fill_segments(address, size);
}

// The map stays as it was: segments show again what they gave back. Always false.
bool ProcessMemory::fill_segments(u64 address, u64 size) {
  const u64 end = address + size;
  memory::Area area;
  for (u64 at = address; !kernel_.segments.empty() && next_area(at, area) && area.start < end; at = area.end) {
    const u64 start = std::max(at, area.start);
    if (!kernel_.segments.of(area)) continue;
    if (!fill(start, std::min(area.end, end) - start, area.image, area.source + (start - area.start))) break;
  }
  return false;
}

bool ProcessMemory::discard(u64 address, u64 size) {
  const bool whole = memory_.discard(address, size);
  const u64 end = address + size;
  memory::Area area;
  for (u64 at = address; !kernel_.mapped_files.empty() && next_area(at, area) && area.start < end; at = area.end) {
    if (!(area.flags & memory::kAreaBacked)) continue;
    const u64 start = std::max(at, area.start);
    if (!fill(start, std::min(area.end, end) - start, area.image, area.source + (start - area.start))) {
      // Linux would find out when a page is touched.
      (void)kernel_.end_out_of_memory();
      return false;
    }
  }
  return whole;
}

// What is about to leave the map goes back to the segments it belongs to.
bool ProcessMemory::give_back(u64 address, u64 size) {
  if (kernel_.segments.empty()) return true;
  const i64 now = i64(kernel_.clock.realtime_ns(cpu_) / kSecond);
  if (kernel_.segments.take_back(memory_, address, size, now)) return true;
  (void)kernel_.end_out_of_memory();
  return false;
}

i64 sys_mmap(Kernel& kernel, Call& call) {
  ProcessMemory memory(kernel, call);
  auto lane_call = lane_side(kernel, call, memory);
  const u32 flags = call.uint_arg(3), protection = guest_protection(call.uint_arg(2));
  if (flags & kMapAnonymous) return lane::mmap_anonymous(lane_call);
  const u64 offset = call.a[5];
  if (offset % memory::kPageSize != 0) return -EINVAL;
  const auto file = kernel.files.get(call.a[4]);
  if (!file) return -EBADF;
  u64 size = 0;
  const i64 address = lane::mapping_address(lane_call, size);
  if (address < 0) return address;
  const bool shared = (flags & kMapType) != kMapPrivate;
  if (const i64 error = check_file(file, flags & kMapType, protection, offset, size)) return error;
  memory::Backing backing{shared ? u32{memory::kAreaShared} : 0u, 0, offset};
  if (file->kind == OpenFile::Kind::kFile) {
    backing.id = kernel.mapped_files.add(file, call.memory);
    if (backing.id == 0) return -ENFILE;
    // Writes to a shared mapping would have to reach the file.
    backing.flags |= memory::kAreaBacked | (shared ? u32{memory::kAreaReadOnly} : 0u);
  }
  return memory.map_backed(u64(address), size, protection, backing) ? address : -ENOMEM;
}

}  // namespace kvrm::linux_abi
