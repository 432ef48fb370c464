// ioctl: the terminal's size and modes, and a few questions every file answers. Nothing else reaches the
// host.
#include <asm/termbits.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "linux/freestanding/lane_files.h"
#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

enum Request : u32 {
  kGetModes = 0x5401,
  kSetModes = 0x5402,
  kSetModesDrained = 0x5403,
  kSetModesFlushed = 0x5404,
  kGetSize = 0x5413,
};
// The guest's kernel termios is the host's; both are asm-generic.
static_assert(sizeof(struct termios) == sizeof(GuestTermios));

bool is_terminal(int host_fd) {
  struct termios modes{};
  return ::ioctl(host_fd, TCGETS, &modes) == 0;
}

i64 set_modes(Kernel& kernel, Call& call, int host_fd, unsigned long request) {
  GuestTermios modes{};
  if (!copy_in(call.memory, call.a[2], modes)) return -EFAULT;
  if (!kernel.terminal_before) {
    std::array<u8, sizeof(GuestTermios)> before{};
    if (::ioctl(host_fd, TCGETS, before.data()) == 0) {
      kernel.terminal_before = before;
      kernel.terminal_fd = host_fd;
    }
  }
  return ::ioctl(host_fd, request, &modes) == 0 ? 0 : -errno;
}

i64 terminal_call(Kernel& kernel, Call& call, int host_fd, u32 request) {
  GuestTermios modes{};
  GuestWinsize size{};
  switch (request) {
    case kGetModes:
      if (::ioctl(host_fd, TCGETS, &modes) != 0) return -errno;
      return copy_out(call.memory, call.a[2], modes) ? 0 : -EFAULT;
    case kSetModes: return set_modes(kernel, call, host_fd, TCSETS);
    case kSetModesDrained: return set_modes(kernel, call, host_fd, TCSETSW);
    case kSetModesFlushed: return set_modes(kernel, call, host_fd, TCSETSF);
    case kGetSize:
      if (::ioctl(host_fd, TIOCGWINSZ, &size) != 0) return -errno;
      return copy_out(call.memory, call.a[2], size) ? 0 : -EFAULT;
    default: return -ENOTTY;  // job control among them: there is only one job
  }
}

i64 unread(Call& call, const OpenFile& file) {
  struct stat info{};
  int count = 0;
  if (file.is_memory()) {
    count = int(std::min<u64>(file.memory.unread(), INT_MAX));
  } else if (file.kind == OpenFile::Kind::kFile) {
    if (::fstat(file.host_fd, &info) != 0 || !S_ISREG(info.st_mode)) return -ENOTTY;
    count = int(info.st_size - ::lseek(file.host_fd, 0, SEEK_CUR));
  } else if (!file.may_wait() || ::ioctl(file.host_fd, FIONREAD, &count) != 0) {
    return -ENOTTY;
  }
  return copy_out(call.memory, call.a[2], i32(count)) ? 0 : -EFAULT;
}

}  // namespace

i64 sys_ioctl(Kernel& kernel, Call& call) {
  auto* entry = kernel.files.entry(call.a[0]);
  if (!entry || entry->file->path_only) return -EBADF;
  OpenFile& file = *entry->file;
  i32 on = 0;
  switch (const u32 request = call.uint_arg(1)) {
    case lane::kIoctlCloexec: entry->close_on_exec = true; return 0;
    case lane::kIoctlNoCloexec: entry->close_on_exec = false; return 0;
    case lane::kIoctlNonblocking:
      if (!copy_in(call.memory, call.a[2], on)) return -EFAULT;
      file.flags = on != 0 ? file.flags | kOpenNonblock : file.flags & ~u32{kOpenNonblock};
      return 0;
    case lane::kIoctlUnread: return unread(call, file);
    default:
      // Only a terminal the host passed in counts as one.
      if (!file.borrowed || file.kind != OpenFile::Kind::kStream || !is_terminal(file.host_fd)) return -ENOTTY;
      return terminal_call(kernel, call, file.host_fd, request);
  }
}

}  // namespace kvrm::linux_abi
