#include "linux/sandbox.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

namespace kvrm::linux_abi {
namespace {

// /proc/self/mem is a regular file, so refusing magic links is not enough when a root contains such file systems.
// devtmpfs counts as tmpfs; its devices are refused.
constexpr u64 kFileSystems[] = {
    0xef53,  // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0xca451a4e,  // bcachefs
    0x2fc12fc1,  // zfs
    0xf2f52010,  // f2fs
    0x3153464a,  // jfs
    0x52654973,  // reiserfs
    0x3434,  // nilfs
    0x01021994,  // tmpfs
    0x858458f6,  // ramfs
    0x794c7630,  // overlayfs
    0x61756673,  // aufs
    0xf15f,  // ecryptfs
    0x65735546,  // fuse, virtiofs
    0x01021997,  // 9p
    0x786f4256,  // vboxsf
    0x6969,  // nfs
    0x517b,  // smb
    0xff534d42,  // cifs
    0xfe534d42,  // smb2
    0x5346414f,  // afs
    0x6b414653,  // kafs
    0x00c36400,  // ceph
    0x0bd00bd0,  // lustre
    0x19830326,  // beegfs
    0x47504653,  // gpfs
    0x01161970,  // gfs2
    0x7461636f,  // ocfs2
    0x4d44,  // vfat
    0x2011bab0,  // exfat
    0x5346544e,  // ntfs
    0x7366746e,  // ntfs3
    0x482b,  // hfs+
    0x9660,  // iso9660
    0x15013346,  // udf
    0x73717368,  // squashfs
    0xe0f5e1e2,  // erofs
};

// 0 if the host does not say.
u64 file_system_of(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 ? u64(info.f_type) & 0xffffffff : 0;
}

// Whether a path is a folder's or lies below it. Both without links.
bool is_within(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

// 0, or why the guest may not use what it opened.
int Sandbox::refusal(int fd, bool for_use) const {
  if (!holds_plain_files(file_system_of(fd))) return -EACCES;
  if (!hidden_.empty()) {
    // A folder may be mounted under another name since.
    struct stat info{};
    if (::fstat(fd, &info) != 0) return -errno;
    const FileId id{info.st_dev, info.st_ino};
    if (std::find(hidden_ids_.begin(), hidden_ids_.end(), id) != hidden_ids_.end()) return -EACCES;
    const std::string path = link_target(host_name(fd));
    const auto holds = [&](const std::string& folder) { return is_within(path, folder); };
    if (std::any_of(hidden_.begin(), hidden_.end(), holds)) return -EACCES;
  }
  return for_use && is_device(fd) ? -EACCES : 0;
}

bool Sandbox::leads_to_hidden(const Entry& entry) const {
  if (hidden_names_.empty() || entry.is_dots) return false;
  const std::string folder = link_target(host_name(entry.folder.get()));
  const std::string name = (folder == "/" ? "" : folder) + "/" + entry.name.substr(0, entry.name.find('/'));
  return std::find(hidden_names_.begin(), hidden_names_.end(), name) != hidden_names_.end();
}

// Goes the way to a folder, name by name, through links. False if there are too many of them.
bool Sandbox::hide(const std::string& folder) {
  constexpr int kMostLinks = 40;
  const auto parts = [](const std::string& path) {
    std::vector<std::string> names;
    for (std::size_t at = 0, end = 0; at <= path.size(); at = end + 1) {
      end = std::min(path.find('/', at), path.size());
      names.push_back(path.substr(at, end - at));
    }
    std::reverse(names.begin(), names.end());
    return names;
  };
  std::vector<std::string> left = parts(folder);  // the next one last
  std::string here;
  for (int links = 0; !left.empty();) {
    const std::string name = std::move(left.back());
    left.pop_back();
    if (name == "..") here.resize(here.empty() ? 0 : here.rfind('/'));
    if (name.empty() || name == "." || name == "..") continue;
    const std::string path = here + "/" + name;
    if (path_of(path)) hidden_names_.push_back(path);
    const std::string target = link_target(path);
    if (target.empty()) {
      here = path;
      continue;
    }
    if (++links > kMostLinks) return false;
    if (target[0] == '/') here.clear();
    for (std::string& part : parts(target)) left.push_back(std::move(part));
  }
  if (!path_of(here)) return true;
  hidden_.push_back(here);
  struct stat info{};
  if (::lstat(here.c_str(), &info) == 0) hidden_ids_.push_back({info.st_dev, info.st_ino});
  return true;
}

bool holds_plain_files(u64 file_system) {
  return std::find(std::begin(kFileSystems), std::end(kFileSystems), file_system) != std::end(kFileSystems);
}

bool is_device(int host_fd) {
  struct stat info{};
  return ::fstat(host_fd, &info) != 0 || S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
}

void drop_setid(int host_fd) {
  struct stat info{};
  if (::fstat(host_fd, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & (S_ISUID | S_ISGID)) == 0) return;
  (void)!::chmod(host_name(host_fd).c_str(), info.st_mode & kGuestMode);
}

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

Result<Sandbox> Sandbox::create(const std::optional<std::string>& root, const std::vector<std::string>& hidden) {
  Sandbox sandbox;
  if (!root) return sandbox;
  sandbox.root_ = HostFd(::open(root->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!sandbox.root_) return Error{"cannot open the root folder " + *root + ": " + std::strerror(errno)};
  const HostFd probe(sandbox.lookup("/", O_PATH | O_CLOEXEC, 0));
  if (!probe) return Error{"this host has no openat2 (Linux 5.6 or newer is needed for a root folder)"};
  if (const u64 type = file_system_of(probe.get()); !holds_plain_files(type)) {
    char text[32];
    std::snprintf(text, sizeof text, "%#llx", type);
    return Error{"the root folder " + *root + " is on a file system that guests may not use (type " + text + ")"};
  }
  for (const std::string& folder : hidden) {
    if (!sandbox.hide(folder)) return Error{"too many links lead to " + folder + ", which guests may not see"};
  }
  return sandbox;
}

int Sandbox::lookup(const std::string& path, u64 flags, u64 mode) const {
  if (!root_) return -ENOENT;
  open_how how{};
  how.flags = flags;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: a process on the host renames folders at this moment; the kernel asks to try again.
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
  const u32 wanted = mode & kGuestMode & ~umask;
  // What must not be changed is refused before it is cut off.
  const bool cut_later = hides() && (flags & O_TRUNC) != 0;
  const int how = (cut_later ? flags & ~O_TRUNC : flags) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  HostFd fd(hides() && creates && !temporary ? open_beside_hidden(path, how, wanted, exists)
                                             : lookup(path, u64(how), creates || temporary ? wanted : 0));
  if (!fd) return fd.get();
  if (const int error = refusal(fd.get(), true)) return error;
  if (cut_later && ::truncate(host_name(fd.get()).c_str(), 0) != 0) return -errno;
  // The host's umask was applied as well; only the guest's should be.
  struct stat info{};
  if ((!exists || temporary) && ::fstat(fd.get(), &info) == 0 && (info.st_mode & 07777) != wanted)
    (void)!::fchmod(fd.get(), wanted);
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0) drop_setid(fd.get());
  return fd.release();
}

// With O_CREAT. What is there is opened without it; what is not is made in a folder that was checked, by its name alone
// and without following that. Otherwise a link that another guest has just put there makes a file in a hidden folder.
int Sandbox::open_beside_hidden(const std::string& path, int flags, u32 mode, bool& exists) const {
  if (exists && (flags & O_EXCL) != 0) return -EEXIST;
  if (exists) {
    HostFd fd(lookup(path, u64(flags & ~O_CREAT), 0));
    struct stat info{};
    if (fd && ::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) return -EISDIR;
    if (fd || fd.get() != -ENOENT) return fd ? fd.release() : fd.get();
  }
  exists = false;
  Entry entry;
  if (const int error = open_parent(path, entry)) return error;
  if (entry.is_dots) return -EISDIR;
  const int fd = ::openat(entry.folder.get(), entry.name.c_str(), flags | O_NOFOLLOW, mode);
  if (fd < 0) return errno == ELOOP ? -EACCES : -errno;
  return fd;
}

int Sandbox::open_parent(const std::string& path, Entry& entry) const {
  std::size_t end = path.size();
  while (end > 0 && path[end - 1] == '/') --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') --begin;
  entry.name = path.substr(begin, end - begin);
  entry.is_dots = entry.name.empty() || entry.name == "." || entry.name == "..";
  if (entry.name.size() > NAME_MAX) return -ENAMETOOLONG;
  if (end < path.size()) entry.name += '/';
  const std::string parent = begin == 0 ? "/" : path.substr(0, begin);
  HostFd fd(lookup(parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  if (!fd) return fd.get();
  if (const int error = refusal(fd.get(), false)) return error;
  entry.folder = std::move(fd);
  return leads_to_hidden(entry) ? -EACCES : 0;
}

bool Sandbox::names_device(const Entry& entry) {
  // Without a trailing slash, which would follow a link.
  const std::string name = entry.name.substr(0, entry.name.find('/'));
  struct stat info{};
  if (::fstatat(entry.folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
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
