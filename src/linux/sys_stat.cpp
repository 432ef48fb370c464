// Asking about files.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "linux/kernel_state.h"
#include "linux/lane_host.h"
#include "linux/paths.h"

namespace kvrm::linux_abi {

i64 stat_file(const Kernel& kernel, int host_fd, const MemoryPipe* memory, GuestStat& guest) {
  struct stat host{};
  if (::fstat(host_fd, &host) != 0) return -errno;
  guest = {};
  guest.dev = host.st_dev;
  guest.ino = host.st_ino;
  guest.mode = host.st_mode;
  guest.nlink = u32(host.st_nlink);
  guest.uid = host.st_uid;
  guest.gid = host.st_gid;
  guest.rdev = host.st_rdev;
  guest.size = host.st_size;
  guest.blksize = i32(host.st_blksize);
  guest.blocks = host.st_blocks;
  guest.atime = host.st_atim.tv_sec;
  guest.atime_nsec = u64(host.st_atim.tv_nsec);
  guest.mtime = host.st_mtim.tv_sec;
  guest.mtime_nsec = u64(host.st_mtim.tv_nsec);
  guest.ctime = host.st_ctim.tv_sec;
  guest.ctime_nsec = u64(host.st_ctim.tv_nsec);
  if (memory) memory->settle(guest, kernel.uid, kernel.gid);
  return 0;
}

namespace {

i64 stat_fd(const Kernel& kernel, Call& call, int host_fd, const MemoryPipe* memory, u64 pointer) {
  GuestStat guest;
  if (const i64 error = stat_file(kernel, host_fd, memory, guest)) return error;
  return copy_out(call.memory, pointer, guest) ? 0 : -EFAULT;
}

const MemoryPipe* memory_of(const std::shared_ptr<OpenFile>& file) {
  return file && file->is_memory() ? &file->memory : nullptr;
}

i64 statfs_fd(Call& call, int host_fd, u64 pointer) {
  struct statfs host{};
  if (::fstatfs(host_fd, &host) != 0) return -errno;
  GuestStatfs guest{};
  guest.type = host.f_type;
  guest.bsize = host.f_bsize;
  guest.blocks = host.f_blocks;
  guest.bfree = host.f_bfree;
  guest.bavail = host.f_bavail;
  guest.files = host.f_files;
  guest.ffree = host.f_ffree;
  guest.fsid[0] = host.f_fsid.__val[0];
  guest.fsid[1] = host.f_fsid.__val[1];
  guest.namelen = host.f_namelen;
  guest.frsize = host.f_frsize;
  guest.flags = host.f_flags;
  return copy_out(call.memory, pointer, guest) ? 0 : -EFAULT;
}

i64 access_path(Kernel& kernel, Call& call, u32 mode, u32 flags) {
  if ((mode & ~7u) != 0 || (flags & ~u32{kAtEaccess | kAtSymlinkNofollow | kAtEmptyPath}) != 0) return -EINVAL;
  Target target;
  if (const i64 error = find_target(kernel, call, call.int_arg(0), call.a[1], flags, target)) return error;
  // The host's rights, through the host's name of the handle; what is not below the root is read only.
  if (::access(host_name(target.fd()).c_str(), int(mode)) != 0) return -errno;
  return 0;
}

GuestStatxTime statx_time(const struct statx_timestamp& time) { return {time.tv_sec, time.tv_nsec, 0}; }

GuestStatx convert(const struct statx& host) {
  GuestStatx guest{};
  guest.mask = host.stx_mask;
  guest.blksize = host.stx_blksize;
  guest.attributes = host.stx_attributes;
  guest.nlink = host.stx_nlink;
  guest.uid = host.stx_uid;
  guest.gid = host.stx_gid;
  guest.mode = host.stx_mode;
  guest.ino = host.stx_ino;
  guest.size = host.stx_size;
  guest.blocks = host.stx_blocks;
  guest.attributes_mask = host.stx_attributes_mask;
  guest.atime = statx_time(host.stx_atime);
  guest.btime = statx_time(host.stx_btime);
  guest.ctime = statx_time(host.stx_ctime);
  guest.mtime = statx_time(host.stx_mtime);
  guest.rdev_major = host.stx_rdev_major;
  guest.rdev_minor = host.stx_rdev_minor;
  guest.dev_major = host.stx_dev_major;
  guest.dev_minor = host.stx_dev_minor;
  return guest;
}

}  // namespace

i64 sys_fstat(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  return file ? stat_fd(kernel, call, file->host_fd, memory_of(file), call.a[1]) : -EBADF;
}

i64 sys_newfstatat(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(3);
  if (flags & ~u32{kAtSymlinkNofollow | kAtNoAutomount | kAtEmptyPath | kAtStatxSyncType}) return -EINVAL;
  Target target;
  if (const i64 error = find_target(kernel, call, call.int_arg(0), call.a[1], flags, target)) return error;
  return stat_fd(kernel, call, target.fd(), memory_of(target.open), call.a[2]);
}

i64 sys_statx(Kernel& kernel, Call& call) {
  constexpr u32 kReservedMask = 0x80000000u;
  const u32 flags = call.uint_arg(2), mask = call.uint_arg(3);
  if ((flags & ~u32{kAtSymlinkNofollow | kAtNoAutomount | kAtEmptyPath | kAtStatxSyncType}) != 0) return -EINVAL;
  if ((mask & kReservedMask) != 0 || (flags & kAtStatxSyncType) == kAtStatxSyncType) return -EINVAL;
  Target target;
  if (const i64 error = find_target(kernel, call, call.int_arg(0), call.a[1], flags, target)) return error;
  struct statx host{};
  constexpr u32 kBasicAndBirth = 0xfff;
  if (::statx(target.fd(), "", AT_EMPTY_PATH, mask & kBasicAndBirth, &host) != 0) return -errno;
  GuestStatx guest = convert(host);
  if (const MemoryPipe* memory = memory_of(target.open)) memory->settle(guest, kernel.uid, kernel.gid);
  return copy_out(call.memory, call.a[4], guest) ? 0 : -EFAULT;
}

i64 sys_statfs(Kernel& kernel, Call& call) {
  Target target;
  if (const i64 error = find_target(kernel, call, kAtFdCwd, call.a[0], 0, target)) return error;
  return statfs_fd(call, target.fd(), call.a[1]);
}

i64 sys_fstatfs(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  return file ? statfs_fd(call, file->host_fd, call.a[1]) : -EBADF;
}

i64 sys_faccessat(Kernel& kernel, Call& call) { return access_path(kernel, call, call.uint_arg(2), 0); }
i64 sys_faccessat2(Kernel& kernel, Call& call) { return access_path(kernel, call, call.uint_arg(2), call.uint_arg(3)); }

}  // namespace kvrm::linux_abi
