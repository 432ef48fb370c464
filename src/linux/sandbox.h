// The guest's view of the file system: one host folder, seen as "/", that no path can leave. Every lookup is
// made by openat2 with RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS on the whole guest path, so "..", absolute
// symbolic links and /proc's links are the kernel's business and end inside the folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"
#include "linux/host_fd.h"

namespace kvrm::linux_abi {

class Sandbox {
 public:
  // `hidden`: host folders. What they hold is -EACCES, and so is a change of any name below the root that leads there,
  // links included: host code that trusts such a folder must not find another one.
  static Result<Sandbox> create(const std::optional<std::string>& root, const std::vector<std::string>& hidden = {});

  bool has_root() const { return bool(root_); }

  // All paths are absolute guest paths. Results are a host descriptor or -errno; without a root every
  // path is -ENOENT.

  // A handle to the file itself, for asking about it (O_PATH).
  int open_path(const std::string& path, bool follow) const;
  // Opens for use. Host flags; O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added. Devices, and file
  // systems that are not known to hold plain files (/proc, /sys: they lead into the host), are refused with -EACCES.
  // `umask` is the guest's. No file gets the setuid or setgid bit, and one opened for writing loses it.
  int open(const std::string& path, int flags, u32 mode, u32 umask) const;
  // The folder that holds the path's last component, and that component (it keeps a trailing slash). Calls
  // that change a name work on this pair; none of them follows a link in the last component.
  struct Entry {
    HostFd folder;
    std::string name;
    bool is_dots = false;  // ".", ".." or the root itself: names nothing that can be changed
  };
  int open_parent(const std::string& path, Entry& entry) const;
  // Whether the entry is a device, which no guest may rename, remove or link.
  static bool names_device(const Entry& entry);

  // The guest path of an open folder; nullopt: it is not (or no longer) inside the root.
  std::optional<std::string> path_of(int host_fd) const;
  // The same of a full host path without links.
  std::optional<std::string> path_of(const std::string& host_path) const;

 private:
  int lookup(const std::string& path, u64 flags, u64 mode) const;
  int refusal(int fd, bool for_use) const;
  bool leads_to_hidden(const Entry& entry) const;
  bool hide(const std::string& folder);
  bool hides() const { return !hidden_.empty() || !hidden_names_.empty(); }
  int open_beside_hidden(const std::string& path, int flags, u32 mode, bool& exists) const;
  struct FileId {
    u64 device, inode;
    friend bool operator==(const FileId&, const FileId&) = default;
  };
  HostFd root_;
  std::vector<FileId> hidden_ids_;  // of hidden_, as far as they are there
  std::vector<std::string> hidden_;  // folders below the root, without links
  std::vector<std::string> hidden_names_;  // what leads to hidden folders, below the root
};

// "/proc/self/fd/N": the host's own name for a descriptor, for the calls that have no f-variant.
std::string host_name(int host_fd);
// The mode bits a guest may set: setuid and setgid would lend a program the rights of the user who runs kvrm.
inline constexpr u32 kGuestMode = 01777;
bool is_device(int host_fd);
// Whether a file system, by the type statfs gives, is known to hold plain files. All others may be windows into the
// host's kernel.
bool holds_plain_files(u64 file_system);
// A file that a guest changes does not keep the setuid and setgid bits, whatever rights kvrm itself has.
void drop_setid(int host_fd);

// What a link of the host says; empty if it is none.
std::string link_target(const std::string& link);

// Folds ".", ".." and double slashes by text alone. For comparing with names the layer itself provides,
// never for finding files.
std::string normal_path(const std::string& path);

}  // namespace kvrm::linux_abi
