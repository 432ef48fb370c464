#include "linux/paths.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "linux/freestanding/layout.h"
#include "linux/open_flags.h"

namespace kvrm::linux_abi {
namespace {

struct ProvidedName {
  const char* path;
  Provided which;
};
constexpr ProvidedName kProvidedNames[] = {
    {"/dev/null", Provided::kNull},         {"/dev/zero", Provided::kZero},
    {"/dev/full", Provided::kFull},         {"/dev/urandom", Provided::kRandom},
    {"/dev/random", Provided::kRandom},     {"/dev/tty", Provided::kTerminal},
    {"/proc/self/maps", Provided::kMaps},   {"/proc/1000/maps", Provided::kMaps},
    {"/proc/self/exe", Provided::kProgram}, {"/proc/1000/exe", Provided::kProgram},
};

// The map as /proc/self/maps prints it, as far as it is known here.
int open_maps(const Kernel& kernel, const memory::GuestMemory& memory) {
  std::string text;
  for (const auto& area : memory.areas()) {
    char line[128];
    const char* name = "";
    if (area.start >= kStackBottom && area.end <= kStackTop)
      name = "                    [stack]";
    else if (area.start >= kernel.brk_start && area.end <= page_up(kernel.brk))
      name = "                     [heap]";
    const u32 p = area.protection;
    const u64 offset = area.flags & memory::kAreaBacked ? area.source : 0;
    std::snprintf(line, sizeof line, "%08llx-%08llx %c%c%c%c %08llx 00:00 0 %s\n", area.start, area.end,
                  p & memory::kRead ? 'r' : '-', p & memory::kWrite ? 'w' : '-', p & memory::kExecute ? 'x' : '-',
                  area.flags & memory::kAreaShared ? 's' : 'p', offset, name);
    text += line;
  }
  HostFd file(::memfd_create("maps", MFD_CLOEXEC));
  if (!file) return -errno;
  if (::pwrite(file.get(), text.data(), text.size(), 0) != ssize_t(text.size())) return -ENOMEM;
  return file.release();
}

// The folder a relative path starts from.
i64 base_folder(Kernel& kernel, i32 dirfd, std::string& base) {
  if (dirfd == kAtFdCwd) {
    if (!kernel.sandbox.has_root()) return -ENOENT;
    const auto path = kernel.sandbox.path_of(kernel.cwd.get());
    if (!path) return -ENOENT;
    base = *path;
    return 0;
  }
  const auto file = kernel.files.get(u32(dirfd));
  if (!file) return -EBADF;
  struct stat info{};
  if (::fstat(file->host_fd, &info) != 0 || !S_ISDIR(info.st_mode)) return -ENOTDIR;
  const auto path = kernel.sandbox.path_of(file->host_fd);
  if (!path) return -ENOENT;
  base = *path;
  return 0;
}

}  // namespace

Provided provided_file(const std::string& path) {
  if (path.find("/dev/") == std::string::npos && path.find("/proc/") == std::string::npos) return Provided::kNone;
  const std::string normal = normal_path(path);
  for (const auto& name : kProvidedNames)
    if (normal == name.path) return name.which;
  return Provided::kNone;
}

int open_provided(const Kernel& kernel, const memory::GuestMemory& memory, Provided which, u32 guest_flags) {
  const int flags = int(guest_flags & kOpenAccess) | O_CLOEXEC | O_NOCTTY;
  const auto host = [&](const char* path) {
    const int fd = ::open(path, flags);
    return fd >= 0 ? fd : -errno;
  };
  const bool writes = (guest_flags & kOpenAccess) != kOpenReadOnly;
  if (guest_flags & kOpenDirectory) return -ENOTDIR;
  if ((guest_flags & (kOpenCreate | kOpenExclusive)) == (kOpenCreate | kOpenExclusive)) return -EEXIST;
  switch (which) {
    case Provided::kNull:
    case Provided::kRandom: return host("/dev/null");  // the random bytes are not the host's
    case Provided::kZero: return host("/dev/zero");
    case Provided::kFull: return host("/dev/full");
    case Provided::kTerminal: return -ENXIO;
    case Provided::kMaps: return writes ? -EACCES : open_maps(kernel, memory);
    case Provided::kProgram:
      if (!kernel.exe) return -ENOENT;
      if (writes) return -ETXTBSY;
      // A new description, so that the guest's position is its own.
      return host(host_name(kernel.exe->file.get()).c_str());
    default: return -ENOENT;
  }
}

bool names_program(const Kernel& kernel, const std::string& path) {
  if (!kernel.exe) return false;
  return path == kernel.options.exe_path || normal_path(path) == kernel.exe_name;
}

i64 read_path(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, std::string& path) {
  if (const i64 error = copy_text(call.memory, pointer, kMaxPath, path)) return error;
  if (path.empty()) return -ENOENT;
  if (path[0] == '/') return 0;
  // Without a root the program's name, as it was given, still means the program.
  if (!kernel.sandbox.has_root() && dirfd == kAtFdCwd && names_program(kernel, path)) return 0;
  std::string base;
  if (const i64 error = base_folder(kernel, dirfd, base)) return error;
  path = base + "/" + path;
  return 0;
}

i64 find_file(Kernel& kernel, Call& call, const std::string& path, bool follow, HostFd& found) {
  const Provided which = provided_file(path);
  int fd = which != Provided::kNone ? open_provided(kernel, call.memory, which, kOpenReadOnly)
                                    : kernel.sandbox.open_path(path, follow);
  if (fd == -ENOENT && which == Provided::kNone && names_program(kernel, path))
    fd = open_provided(kernel, call.memory, Provided::kProgram, kOpenReadOnly);
  if (fd < 0) return fd;
  found = HostFd(fd);
  return 0;
}

i64 find_target(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, u32 at_flags, Target& target) {
  if (at_flags & kAtEmptyPath) {
    u8 first = 1;
    // Linux also takes a null pointer here since 6.11; a bad one is EFAULT.
    if (!call.memory.read(pointer, &first, 1)) return -EFAULT;
    if (first == 0) {
      std::string cwd;
      if (dirfd == kAtFdCwd) {
        const i64 error = base_folder(kernel, dirfd, cwd);
        return error != 0 ? error : find_file(kernel, call, cwd, true, target.handle);
      }
      target.open = kernel.files.get(u32(dirfd));
      return target.open ? 0 : -EBADF;
    }
  }
  std::string path;
  if (const i64 error = read_path(kernel, call, dirfd, pointer, path)) return error;
  return find_file(kernel, call, path, !(at_flags & kAtSymlinkNofollow), target.handle);
}

}  // namespace kvrm::linux_abi
