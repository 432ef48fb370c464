// Opening, closing and duplicating descriptors.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/freestanding/layout.h"
#include "linux/kernel_state.h"
#include "linux/open_flags.h"
#include "linux/paths.h"

namespace kvrm::linux_abi {
namespace {

constexpr u32 kStatusFlags = kOpenAppend | kOpenNonblock | kOpenDirect | kOpenNoatime | kOpenAsync;
// Flags that act once, at opening; F_GETFL does not show them.
constexpr u32 kOpeningFlags = kOpenCreate | kOpenExclusive | kOpenNoCtty | kOpenTruncate | kOpenCloexec;

OpenFile::Kind kind_of(int host_fd) {
  struct stat info{};
  if (::fstat(host_fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)))
    return OpenFile::Kind::kStream;
  return OpenFile::Kind::kFile;
}

// Files that were mapped and no longer are may still be held open.
bool may_open(Kernel& kernel, Call& call, u64 count) {
  if (!kernel.files.may_open(count)) kernel.mapped_files.drop_unmapped(call.memory);
  return kernel.files.may_open(count);
}

// What the host keeps for an open file, more or less, and for what a pipe holds.
constexpr u64 kFileBytes = 1 << 10, kPipeBytes = 64 << 10;

using ChargePointer = std::shared_ptr<const memory::Charge>;

// Takes the descriptor. Without a charge, one for a file.
i64 add_file(Kernel& kernel, int host_fd, OpenFile::Kind kind, bool inside_root, u32 flags, ChargePointer charge = {}) {
  auto file = kernel.files.make(host_fd);
  const u64 bytes = kind == OpenFile::Kind::kStream ? kPipeBytes : kFileBytes;
  file->charge = charge ? std::move(charge) : memory::Charge::make(kernel.options.account, bytes);
  if (!file->charge) return -ENOMEM;
  file->kind = kind;
  file->inside_root = inside_root;
  file->path_only = (flags & kOpenPath) != 0;
  file->flags = (flags & ~kOpeningFlags) | (kind == OpenFile::Kind::kPipe ? 0u : u32{kOpenLargefile});
  return kernel.files.add(std::move(file), (flags & kOpenCloexec) != 0);
}

i64 open_in_root(Kernel& kernel, const std::string& path, u32 flags, u32 mode) {
  if (flags & kOpenPath) {
    const int fd = kernel.sandbox.open_path(path, !(flags & kOpenNofollow));
    if (fd < 0) return fd;
    struct stat info{};
    if ((flags & kOpenDirectory) && (::fstat(fd, &info) != 0 || !S_ISDIR(info.st_mode))) {
      ::close(fd);
      return -ENOTDIR;
    }
    return add_file(kernel, fd, OpenFile::Kind::kFile, true, flags);
  }
  const u32 host_flags = flags & ~u32{kOpenNonblock | kOpenNoCtty | kOpenCloexec};
  const int fd = kernel.sandbox.open(path, host_open_flags(host_flags), mode, kernel.umask);
  return fd < 0 ? fd : add_file(kernel, fd, kind_of(fd), true, flags);
}

i64 open_ours(Kernel& kernel, const memory::GuestMemory& memory, Provided which, u32 flags) {
  const int fd = open_provided(kernel, memory, which, flags);
  if (fd < 0) return fd;
  auto kind = OpenFile::Kind::kDevice;
  if (which == Provided::kRandom) kind = OpenFile::Kind::kRandom;
  if (which == Provided::kMaps || which == Provided::kProgram) kind = OpenFile::Kind::kFile;
  if (which != Provided::kMaps) return add_file(kernel, fd, kind, false, flags);
  struct stat info{};
  const u64 bytes = ::fstat(fd, &info) == 0 ? page_up(u64(info.st_size)) : 0;
  auto charge = memory::Charge::make(kernel.options.account, kFileBytes + bytes);
  if (charge) return add_file(kernel, fd, kind, false, flags, std::move(charge));
  ::close(fd);
  return -ENOMEM;
}

i64 duplicate(Kernel& kernel, u64 fd, u64 lowest, bool close_on_exec) {
  auto file = kernel.files.get(fd);
  return file ? kernel.files.add(std::move(file), close_on_exec, lowest) : -EBADF;
}

i64 set_status_flags(OpenFile& file, u32 flags) {
  if (file.path_only) return -EBADF;
  flags &= kStatusFlags;
  file.flags = (file.flags & ~kStatusFlags) | flags;
  // Waiting is this layer's business; appending is the host's, unless the description is borrowed.
  if (!file.borrowed) {
    const int host = ::fcntl(file.host_fd, F_GETFL);
    const int append = flags & kOpenAppend ? O_APPEND : 0;
    if (::fcntl(file.host_fd, F_SETFL, (host & ~O_APPEND) | append) != 0) return -errno;
  }
  return 0;
}

// A single process has no conflicting locks.
i64 lock_call(Call& call, bool get) {
  struct GuestFlock {
    i16 type, whence;
    i32 pad;
    i64 start, size;
    i32 pid, pad2;
  } lock;
  if (!copy_in(call.memory, call.a[2], lock)) return -EFAULT;
  if (lock.type < 0 || lock.type > 2 || lock.whence < 0 || lock.whence > 2) return -EINVAL;
  if (!get) return 0;
  lock.type = 2;  // F_UNLCK: no lock conflicts
  return copy_out(call.memory, call.a[2], lock) ? 0 : -EFAULT;
}

}  // namespace

i64 sys_openat(Kernel& kernel, Call& call) {
  std::string path;
  const u32 flags = call.uint_arg(2);
  if (const i64 error = read_path(kernel, call, call.int_arg(0), call.a[1], path)) return error;
  if (!may_open(kernel, call, 1)) return -EMFILE;
  const Provided which = provided_file(path);
  if (which != Provided::kNone) return open_ours(kernel, call.memory, which, flags);
  const i64 fd = open_in_root(kernel, path, flags, call.uint_arg(3));
  if (fd == -ENOENT && names_program(kernel, path)) return open_ours(kernel, call.memory, Provided::kProgram, flags);
  return fd;
}

i64 sys_close(Kernel& kernel, Call& call) { return kernel.files.close(call.a[0]) ? 0 : -EBADF; }

i64 sys_close_range(Kernel& kernel, Call& call) {
  constexpr u32 kUnshare = 2, kCloexec = 4;
  const u32 first = call.uint_arg(0), last = call.uint_arg(1), flags = call.uint_arg(2);
  if ((flags & ~(kUnshare | kCloexec)) != 0 || first > last) return -EINVAL;
  for (u64 fd = first; fd <= last && fd < FileTable::kMaxFiles; ++fd) {
    if (!(flags & kCloexec))
      kernel.files.close(fd);
    else if (auto* entry = kernel.files.entry(fd))
      entry->close_on_exec = true;
  }
  return 0;
}

i64 sys_dup(Kernel& kernel, Call& call) { return duplicate(kernel, call.a[0], 0, false); }

i64 sys_dup3(Kernel& kernel, Call& call) {
  const u32 from = call.uint_arg(0), to = call.uint_arg(1), flags = call.uint_arg(2);
  if ((flags & ~u32{kOpenCloexec}) != 0 || from == to) return -EINVAL;
  auto file = kernel.files.get(from);
  if (!file || to >= kernel.files.limit()) return -EBADF;
  kernel.files.put(to, std::move(file), flags != 0);
  return to;
}

i64 sys_pipe2(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(1);
  if (flags & ~u32{kOpenCloexec | kOpenNonblock | kOpenDirect}) return -EINVAL;
  if (!may_open(kernel, call, 2)) return -EMFILE;
  const auto charge = memory::Charge::make(kernel.options.account, kPipeBytes);
  if (!charge) return -ENFILE;  // as where all pipes together are too large
  int host[2];
  if (::pipe2(host, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
  HostFd read_end(host[0]), write_end(host[1]);
  const i64 first = add_file(kernel, read_end.release(), OpenFile::Kind::kPipe, false, flags | kOpenReadOnly, charge);
  if (first < 0) return first;
  const i64 second =
      add_file(kernel, write_end.release(), OpenFile::Kind::kPipe, false, flags | kOpenWriteOnly, charge);
  const std::array<i32, 2> fds = {i32(first), i32(second)};
  if (second >= 0 && copy_out(call.memory, call.a[0], fds)) return 0;
  kernel.files.close(u64(first));
  if (second >= 0) kernel.files.close(u64(second));
  return second < 0 ? second : -EFAULT;
}

i64 sys_fcntl(Kernel& kernel, Call& call) {
  enum : u32 {
    kDupfd = 0,
    kGetfd = 1,
    kSetfd = 2,
    kGetfl = 3,
    kSetfl = 4,
    kGetlk = 5,
    kSetlk = 6,
    kSetlkw = 7,
    kSetown = 8,
    kGetown = 9,
    kOfdGetlk = 36,
    kOfdSetlk = 37,
    kOfdSetlkw = 38,
    kDupfdCloexec = 1030,
    kGetpipeSize = 1032,
  };
  auto* entry = kernel.files.entry(call.a[0]);
  if (!entry) return -EBADF;
  const u32 command = call.uint_arg(1);
  const bool harmless = command <= kGetfl || command == kDupfdCloexec;
  if (entry->file->path_only && !harmless) return -EBADF;
  switch (command) {
    case kDupfd:
    case kDupfdCloexec:
      if (call.a[2] >= kernel.files.limit()) return -EINVAL;
      return duplicate(kernel, call.a[0], call.a[2], command == kDupfdCloexec);
    case kGetfd: return entry->close_on_exec ? 1 : 0;
    case kSetfd: entry->close_on_exec = (call.a[2] & 1) != 0; return 0;
    case kGetfl: return entry->file->flags;
    case kSetfl: return set_status_flags(*entry->file, call.uint_arg(2));
    case kGetlk:
    case kOfdGetlk: return lock_call(call, true);
    case kSetlk:
    case kSetlkw:
    case kOfdSetlk:
    case kOfdSetlkw: return lock_call(call, false);
    case kSetown: return 0;
    case kGetown: return 0;
    case kGetpipeSize: return entry->file->kind == OpenFile::Kind::kPipe ? 65536 : -EBADF;
    default: return -EINVAL;
  }
}

i64 sys_flock(Kernel& kernel, Call& call) {
  constexpr u32 kShared = 1, kExclusive = 2, kNonblock = 4, kUnlock = 8;
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  const u32 operation = call.uint_arg(1) & ~kNonblock;
  return operation == kShared || operation == kExclusive || operation == kUnlock ? 0 : -EINVAL;
}

}  // namespace kvrm::linux_abi
