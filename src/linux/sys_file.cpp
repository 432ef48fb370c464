// Changing files: size, mode, owner, times, position.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "linux/kernel_state.h"
#include "linux/paths.h"

namespace kvrm::linux_abi {
namespace {

i64 result_of(long host_result) { return host_result < 0 ? -errno : i64(host_result); }

// A file whose mode, owner or times the guest may change: only what lies below the root. The standard
// files, the program and all devices belong to the host.
i64 find_own(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, u32 flags, Target& target) {
  std::string path;
  bool itself = false;
  if (flags & kAtEmptyPath) {
    // The f-variants pass no path at all.
    if (pointer != 0)
      if (const i64 error = copy_text(call.memory, pointer, kMaxPath, path)) return error;
    itself = path.empty();
  }
  if (itself) {
    target.open = kernel.files.get(u32(dirfd));
    if (!target.open) return -EBADF;
    return target.open->inside_root && !is_device(target.open->host_fd) ? 0 : -EPERM;
  }
  if (const i64 error = read_path(kernel, call, dirfd, pointer, path)) return error;
  if (provided_file(path) != Provided::kNone) return -EPERM;
  target.handle = HostFd(kernel.sandbox.open_path(path, !(flags & kAtSymlinkNofollow)));
  if (target.handle) return is_device(target.handle.get()) ? -EPERM : 0;
  const int error = target.handle.get();
  return error == -ENOENT && names_program(kernel, path) ? -EPERM : error;
}

i64 change_mode(const Target& target, u32 mode) {
  if (mode & (S_ISUID | S_ISGID)) return -EPERM;
  return result_of(::chmod(host_name(target.fd()).c_str(), mode & kGuestMode));
}

i64 change_owner(const Target& target, u32 uid, u32 gid) {
  return result_of(::fchownat(target.fd(), "", uid, gid, AT_EMPTY_PATH));
}

}  // namespace

i64 sys_truncate(Kernel& kernel, Call& call) {
  if (i64(call.a[1]) < 0) return -EINVAL;
  std::string path;
  if (const i64 error = read_path(kernel, call, kAtFdCwd, call.a[0], path)) return error;
  if (provided_file(path) != Provided::kNone) return -EINVAL;
  const HostFd probe(kernel.sandbox.open_path(path, true));
  if (!probe) return probe.get();
  struct stat info{};
  if (::fstat(probe.get(), &info) != 0) return -errno;
  if (S_ISDIR(info.st_mode)) return -EISDIR;
  if (!S_ISREG(info.st_mode)) return -EINVAL;
  drop_setid(probe.get());
  return result_of(::truncate(host_name(probe.get()).c_str(), off_t(call.a[1])));
}

i64 sys_ftruncate(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (i64(call.a[1]) < 0) return -EINVAL;
  if (!file || file->path_only) return -EBADF;
  if (!file->writable()) return -EINVAL;
  return result_of(::ftruncate(file->host_fd, off_t(call.a[1])));
}

i64 sys_fallocate(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  if (i64(call.a[2]) < 0 || i64(call.a[3]) <= 0) return -EINVAL;
  if (!file->writable()) return -EBADF;
  if (file->kind == OpenFile::Kind::kPipe || file->kind == OpenFile::Kind::kStream || file->is_memory()) return -ESPIPE;
  return result_of(::fallocate(file->host_fd, call.int_arg(1), off_t(call.a[2]), off_t(call.a[3])));
}

i64 sys_fchmod(Kernel& kernel, Call& call) {
  Target target;
  if (const i64 error = find_own(kernel, call, call.int_arg(0), 0, kAtEmptyPath, target)) return error;
  if (target.open->path_only) return -EBADF;
  return change_mode(target, call.uint_arg(1));
}

i64 sys_fchmodat(Kernel& kernel, Call& call) {
  Target target;
  if (const i64 error = find_own(kernel, call, call.int_arg(0), call.a[1], 0, target)) return error;
  return change_mode(target, call.uint_arg(2));
}

i64 sys_fchown(Kernel& kernel, Call& call) {
  Target target;
  if (const i64 error = find_own(kernel, call, call.int_arg(0), 0, kAtEmptyPath, target)) return error;
  if (target.open->path_only) return -EBADF;
  return change_owner(target, call.uint_arg(1), call.uint_arg(2));
}

i64 sys_fchownat(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(4);
  if (flags & ~u32{kAtSymlinkNofollow | kAtEmptyPath}) return -EINVAL;
  Target target;
  if (const i64 error = find_own(kernel, call, call.int_arg(0), call.a[1], flags, target)) return error;
  return change_owner(target, call.uint_arg(2), call.uint_arg(3));
}

i64 sys_utimensat(Kernel& kernel, Call& call) {
  constexpr i64 kNow = 0x3fffffff, kOmit = 0x3ffffffe;
  const u32 flags = call.uint_arg(3);
  if (flags & ~u32{kAtSymlinkNofollow | kAtEmptyPath}) return -EINVAL;
  std::array<GuestTimespec, 2> guest{{{0, kNow}, {0, kNow}}};
  if (call.a[2] != 0 && !copy_in(call.memory, call.a[2], guest)) return -EFAULT;
  if (guest[0].nanoseconds == kOmit && guest[1].nanoseconds == kOmit) return 0;
  timespec host[2];
  for (std::size_t i = 0; i < 2; ++i) {
    // "Now" is the guest's now.
    if (guest[i].nanoseconds == kNow) guest[i] = to_timespec(kernel.clock.realtime_ns(call.cpu));
    if (guest[i].nanoseconds != kOmit && (guest[i].nanoseconds < 0 || guest[i].nanoseconds >= i64(kSecond)))
      return -EINVAL;
    host[i].tv_sec = guest[i].seconds;
    host[i].tv_nsec = guest[i].nanoseconds == kOmit ? UTIME_OMIT : guest[i].nanoseconds;
  }
  Target target;
  // A null path means the descriptor itself.
  const u32 how = call.a[1] == 0 ? flags | kAtEmptyPath : flags;
  if (const i64 error = find_own(kernel, call, call.int_arg(0), call.a[1], how, target)) return error;
  return result_of(::utimensat(AT_FDCWD, host_name(target.fd()).c_str(), host, 0));
}

i64 sys_fsync(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  if (file->kind != OpenFile::Kind::kFile) return -EINVAL;
  return result_of(::fsync(file->host_fd));
}

i64 sys_fadvise64(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  if (file->may_wait() || file->is_memory()) return -ESPIPE;
  return i64(call.a[2]) < 0 || call.uint_arg(3) > 5 ? -EINVAL : 0;
}

i64 sys_lseek(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  if (call.uint_arg(2) > 4) return -EINVAL;
  if (file->may_wait() && !file->borrowed) return -ESPIPE;
  if (file->kind == OpenFile::Kind::kRandom) return 0;
  return result_of(::lseek(file->host_fd, off_t(call.a[1]), call.int_arg(2)));
}

}  // namespace kvrm::linux_abi
