// Names: folders, links, renaming and removing, the current folder.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/kernel_state.h"
#include "linux/paths.h"

namespace kvrm::linux_abi {
namespace {

i64 result_of(long host_result) { return host_result < 0 ? -errno : i64(host_result); }

// Where a name is to be made, changed or removed.
i64 find_entry(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, Sandbox::Entry& entry) {
  std::string path;
  if (const i64 error = read_path(kernel, call, dirfd, pointer, path)) return error;
  return kernel.sandbox.open_parent(path, entry);
}

// What the guest's umask allows, whatever the host's was.
void fix_mode(const Sandbox::Entry& entry, u32 wanted) {
  // Without the trailing slash, which would follow a link that the host put there meanwhile.
  const std::string name = entry.name.substr(0, entry.name.find('/'));
  const HostFd made(::openat(entry.folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (made && ::fstat(made.get(), &info) == 0 && !S_ISLNK(info.st_mode) && (info.st_mode & 07777) != wanted)
    (void)!::chmod(host_name(made.get()).c_str(), wanted);
}

i64 change_folder(Kernel& kernel, const std::string& path) {
  HostFd folder(kernel.sandbox.open_path(path, true));
  if (!folder) return folder.get();
  struct stat info{};
  if (::fstat(folder.get(), &info) != 0 || !S_ISDIR(info.st_mode)) return -ENOTDIR;
  if (::access(host_name(folder.get()).c_str(), X_OK) != 0) return -errno;
  kernel.cwd = std::move(folder);
  return 0;
}

i64 rename_names(Kernel& kernel, Call& call, u32 flags) {
  constexpr u32 kNoReplace = 1, kExchange = 2;
  if ((flags & ~(kNoReplace | kExchange)) != 0 || flags == (kNoReplace | kExchange)) return -EINVAL;
  Sandbox::Entry from, to;
  if (const i64 error = find_entry(kernel, call, call.int_arg(0), call.a[1], from)) return error;
  if (const i64 error = find_entry(kernel, call, call.int_arg(2), call.a[3], to)) return error;
  if (from.is_dots || to.is_dots) return -EBUSY;
  if (Sandbox::names_device(from) || Sandbox::names_device(to)) return -EPERM;
  return result_of(
      ::syscall(SYS_renameat2, from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str(), flags));
}

}  // namespace

i64 sys_getcwd(Kernel& kernel, Call& call) {
  std::string path = "/";
  if (kernel.sandbox.has_root()) {
    const auto inside = kernel.sandbox.path_of(kernel.cwd.get());
    struct stat info{};
    if (!inside || ::fstat(kernel.cwd.get(), &info) != 0 || info.st_nlink == 0) return -ENOENT;
    path = *inside;
  }
  if (path.size() + 1 > call.a[1]) return -ERANGE;
  if (!call.memory.write(call.a[0], path.c_str(), path.size() + 1)) return -EFAULT;
  return i64(path.size() + 1);
}

i64 sys_chdir(Kernel& kernel, Call& call) {
  std::string path;
  if (const i64 error = read_path(kernel, call, kAtFdCwd, call.a[0], path)) return error;
  return change_folder(kernel, path);
}

i64 sys_fchdir(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file) return -EBADF;
  struct stat info{};
  if (::fstat(file->host_fd, &info) != 0 || !S_ISDIR(info.st_mode)) return -ENOTDIR;
  // A folder the host passed in as a standard file is not below the root, so it cannot become the working directory.
  const auto path = kernel.sandbox.path_of(file->host_fd);
  return path ? change_folder(kernel, *path) : -EACCES;
}

i64 sys_mkdirat(Kernel& kernel, Call& call) {
  Sandbox::Entry entry;
  if (const i64 error = find_entry(kernel, call, call.int_arg(0), call.a[1], entry)) return error;
  if (entry.is_dots) return -EEXIST;
  const u32 mode = call.uint_arg(2) & kGuestMode & ~kernel.umask;
  if (::mkdirat(entry.folder.get(), entry.name.c_str(), mode) != 0) return -errno;
  fix_mode(entry, mode);
  return 0;
}

i64 sys_mknodat(Kernel& kernel, Call& call) {
  const u32 type = call.uint_arg(2) & S_IFMT;
  // Devices would reach the host's; sockets have no peer.
  if (type != 0 && type != S_IFREG && type != S_IFIFO) return -EPERM;
  Sandbox::Entry entry;
  if (const i64 error = find_entry(kernel, call, call.int_arg(0), call.a[1], entry)) return error;
  if (entry.is_dots) return -EEXIST;
  const u32 mode = call.uint_arg(2) & kGuestMode & ~kernel.umask;
  if (::mknodat(entry.folder.get(), entry.name.c_str(), type | mode, 0) != 0) return -errno;
  fix_mode(entry, mode);
  return 0;
}

i64 sys_unlinkat(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(2);
  if (flags & ~u32{kAtRemovedir}) return -EINVAL;
  Sandbox::Entry entry;
  if (const i64 error = find_entry(kernel, call, call.int_arg(0), call.a[1], entry)) return error;
  const bool folder = flags != 0;
  if (entry.is_dots && !folder) return -EISDIR;
  if (entry.is_dots) return entry.name[0] != '.' ? -EBUSY : entry.name.substr(0, 2) == ".." ? -ENOTEMPTY : -EINVAL;
  if (Sandbox::names_device(entry)) return -EPERM;
  return result_of(::unlinkat(entry.folder.get(), entry.name.c_str(), folder ? AT_REMOVEDIR : 0));
}

i64 sys_symlinkat(Kernel& kernel, Call& call) {
  std::string target;
  if (const i64 error = copy_text(call.memory, call.a[0], kMaxPath, target)) return error;
  if (target.empty()) return -ENOENT;
  Sandbox::Entry entry;
  if (const i64 error = find_entry(kernel, call, call.int_arg(1), call.a[2], entry)) return error;
  if (entry.is_dots) return -EEXIST;
  return result_of(::symlinkat(target.c_str(), entry.folder.get(), entry.name.c_str()));
}

i64 sys_linkat(Kernel& kernel, Call& call) {
  const u32 flags = call.uint_arg(4);
  if (flags & ~u32{kAtSymlinkFollow | kAtEmptyPath}) return -EINVAL;
  std::string path;
  if (const i64 error = read_path(kernel, call, call.int_arg(0), call.a[1], path)) return error;
  const HostFd file(kernel.sandbox.open_path(path, (flags & kAtSymlinkFollow) != 0));
  if (!file) return file.get();
  if (is_device(file.get())) return -EPERM;
  Sandbox::Entry entry;
  if (const i64 error = find_entry(kernel, call, call.int_arg(2), call.a[3], entry)) return error;
  if (entry.is_dots) return -EEXIST;
  // The handle already is the right file, so following /proc's link leads nowhere else.
  return result_of(
      ::linkat(AT_FDCWD, host_name(file.get()).c_str(), entry.folder.get(), entry.name.c_str(), AT_SYMLINK_FOLLOW));
}

i64 sys_renameat(Kernel& kernel, Call& call) { return rename_names(kernel, call, 0); }
i64 sys_renameat2(Kernel& kernel, Call& call) { return rename_names(kernel, call, call.uint_arg(4)); }

i64 sys_readlinkat(Kernel& kernel, Call& call) {
  const i32 size = call.int_arg(3);
  if (size <= 0) return -EINVAL;
  std::string path, target(kMaxPath, '\0');
  if (const i64 error = read_path(kernel, call, call.int_arg(0), call.a[1], path)) {
    const auto file = kernel.files.get(call.a[0]);
    if (error != -ENOENT || !path.empty() || !file || !file->inside_root) return error;
    // An empty path: the link itself was opened with O_PATH.
    const i64 n = result_of(::readlinkat(file->host_fd, "", target.data(), target.size()));
    if (n < 0) return n;
    target.resize(std::size_t(n));
  } else if (const Provided which = provided_file(path); which != Provided::kNone) {
    if (which != Provided::kProgram) return -EINVAL;
    if (kernel.exe_name.empty()) return -ENOENT;
    target = kernel.exe_name;
  } else {
    const HostFd link(kernel.sandbox.open_path(path, false));
    if (!link) return link.get() == -ENOENT && names_program(kernel, path) ? -EINVAL : link.get();
    struct stat info{};
    // The host says ENOENT for an empty path on something that is no link.
    if (::fstat(link.get(), &info) == 0 && !S_ISLNK(info.st_mode)) return -EINVAL;
    const i64 n = result_of(::readlinkat(link.get(), "", target.data(), target.size()));
    if (n < 0) return n;
    target.resize(std::size_t(n));
  }
  const std::size_t n = std::min(target.size(), std::size_t(size));
  return call.memory.write(call.a[2], target.data(), n) ? i64(n) : -EFAULT;
}

i64 sys_getdents64(Kernel& kernel, Call& call) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || file->path_only) return -EBADF;
  if (file->kind != OpenFile::Kind::kFile || !file->inside_root) return -ENOTDIR;
  // Entries have the same layout on x86-64 and arm64.
  const std::size_t room = std::min<std::size_t>(call.uint_arg(2), kernel.buffer().size());
  const off_t before = ::lseek(file->host_fd, 0, SEEK_CUR);
  const long n = ::syscall(SYS_getdents64, file->host_fd, kernel.buffer().data(), room);
  if (n <= 0) return result_of(n);
  if (call.memory.write(call.a[1], kernel.buffer().data(), std::size_t(n))) return n;
  (void)::lseek(file->host_fd, before, SEEK_SET);
  return -EFAULT;
}

}  // namespace kvrm::linux_abi
