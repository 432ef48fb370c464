#include "linux/sandbox.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

namespace kvrm::linux_abi {
namespace {

// File systems that are windows into the host's kernel. /proc/self/mem is a plain file, so refusing
// magic links is not enough when a root contains them.
constexpr std::array<u64, 14> kKernelFileSystems = {
    0x9fa0,      // proc
    0x62656572,  // sysfs
    0x64626720,  // debugfs
    0x74726163,  // tracefs
    0x73636673,  // securityfs
    0x27e0eb,    // cgroup
    0x63677270,  // cgroup2
    0x62656570,  // configfs
    0xde5e81e4,  // efivarfs
    0xcafe4a11,  // bpf
    0x1cd1,      // devpts
    0x19800202,  // mqueue
    0x42494e4d,  // binfmt_misc
    0xf97cff8c,  // selinux
};

bool is_kernel_file_system(int fd) {
  struct statfs info{};
  if (::fstatfs(fd, &info) != 0) return true;
  const u64 type = u64(info.f_type) & 0xffffffff;
  return std::find(kKernelFileSystems.begin(), kKernelFileSystems.end(), type) != kKernelFileSystems.end();
}

// 0, or why the guest may not use what it opened.
int refusal(int fd, bool for_use) {
  if (is_kernel_file_system(fd)) return -EACCES;
  struct stat info{};
  if (::fstat(fd, &info) != 0) return -errno;
  if (for_use && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) return -EACCES;
  return 0;
}

}  // namespace

std::string host_name(int host_fd) { return "/proc/self/fd/" + std::to_string(host_fd); }

std::string link_target(const std::string& link) {
  char buffer[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), buffer, sizeof buffer);
  return size > 0 && size < ssize_t(sizeof buffer) ? std::string(buffer, std::size_t(size)) : std::string();
}

std::string normal_path(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(std::move(part));
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string normal;
  for (const auto& part : parts) normal += "/" + part;
  return normal.empty() ? "/" : normal;
}

Result<Sandbox> Sandbox::create(const std::optional<std::string>& root) {
  Sandbox sandbox;
  if (!root) return sandbox;
  sandbox.root_ = HostFd(::open(root->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!sandbox.root_) return Error{"cannot open the root folder " + *root + ": " + std::strerror(errno)};
  const HostFd probe(sandbox.lookup("/", O_PATH | O_CLOEXEC, 0));
  if (!probe) return Error{"this host has no openat2 (Linux 5.6 or newer is needed for a root folder)"};
  return sandbox;
}

int Sandbox::lookup(const std::string& path, u64 flags, u64 mode) const {
  if (!root_) return -ENOENT;
  open_how how{};
  how.flags = flags;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: somebody on the host renames folders at this moment; the kernel asks to try again.
  for (int attempt = 0; attempt < 32; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how);
    if (fd >= 0) return int(fd);
    if (errno != EAGAIN && errno != EINTR) return -errno;
  }
  return -EACCES;
}

int Sandbox::open_path(const std::string& path, bool follow) const {
  HostFd fd(lookup(path, u64(O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)), 0));
  if (!fd) return fd.get();
  if (const int error = refusal(fd.get(), false)) return error;
  return fd.release();
}

int Sandbox::open(const std::string& path, int flags, u32 mode, u32 umask) const {
  const bool temporary = (flags & O_TMPFILE) == O_TMPFILE;
  const bool creates = (flags & O_CREAT) != 0;
  // Look before opening: opening a device is already doing something to it.
  bool exists = true;
  if (!temporary) {
    const HostFd probe(lookup(path, u64(O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)), 0));
    if (probe) {
      if (const int error = refusal(probe.get(), true)) return error;
    } else if (probe.get() == -ENOENT && creates) {
      exists = false;
    } else {
      return probe.get();
    }
  }
  const u32 wanted = mode & 07777 & ~umask;
  const u64 how = u64(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  HostFd fd(lookup(path, how, creates || temporary ? wanted : 0));
  if (!fd) return fd.get();
  if (const int error = refusal(fd.get(), true)) return error;
  // The host's umask was applied as well; only the guest's should be.
  struct stat info{};
  if ((!exists || temporary) && ::fstat(fd.get(), &info) == 0 && (info.st_mode & 07777) != wanted)
    (void)!::fchmod(fd.get(), wanted);
  return fd.release();
}

int Sandbox::open_parent(const std::string& path, Place& place) const {
  std::size_t end = path.size();
  while (end > 0 && path[end - 1] == '/') --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') --begin;
  place.name = path.substr(begin, end - begin);
  place.is_dots = place.name.empty() || place.name == "." || place.name == "..";
  if (place.name.size() > NAME_MAX) return -ENAMETOOLONG;
  if (end < path.size()) place.name += '/';
  const std::string parent = begin == 0 ? "/" : path.substr(0, begin);
  HostFd fd(lookup(parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  if (!fd) return fd.get();
  if (const int error = refusal(fd.get(), false)) return error;
  place.folder = std::move(fd);
  return 0;
}

std::optional<std::string> Sandbox::path_of(int host_fd) const {
  return root_ ? path_of(link_target(host_name(host_fd))) : std::nullopt;
}

std::optional<std::string> Sandbox::path_of(const std::string& host_path) const {
  if (!root_) return std::nullopt;
  std::string root = link_target(host_name(root_.get()));
  if (root.empty() || host_path.empty() || host_path[0] != '/') return std::nullopt;
  if (root == "/") root.clear();
  if (host_path.compare(0, root.size(), root) != 0) return std::nullopt;
  std::string rest = host_path.substr(root.size());
  if (rest.empty()) return "/";
  if (rest[0] != '/') return std::nullopt;
  return rest;
}

}  // namespace kvrm::linux_abi
