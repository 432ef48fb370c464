// The guest's descriptors. They are numbers of their own and never the host's.
#pragma once

#include <memory>
#include <vector>

#include "base/types.h"
#include "linux/host_fd.h"
#include "linux/memory_pipe.h"
#include "memory/account.h"

namespace kvrm::linux_abi {

// An open file description: what dup'ed descriptors share.
struct OpenFile {
  enum class Kind {
    kFile,    // regular file or folder: never waits
    kStream,  // terminal, pipe, socket of the host's: may wait for the outside world
    kPipe,    // made by pipe2: both ends are in this process, so waiting for it can be hopeless
    kDevice,  // /dev/null and friends: always ready
    kRandom,  // /dev/urandom: the bytes come from the guest's own generator
    kMemory,  // a pipe that leads into KVRM itself: always ready
  };
  Kind kind = Kind::kFile;
  int host_fd = -1;
  bool borrowed = false;     // one of the host's standard three: never closed, its flags never changed
  bool inside_root = false;  // found below the root: owner, mode and times may be changed
  bool path_only = false;    // O_PATH
  u32 flags = 0;             // the guest's: access mode and status flags as F_GETFL shows them
  MemoryPipe memory;         // kMemory
  std::shared_ptr<u64> open_files;  // counts this one, if its host descriptor is the guest's
  std::shared_ptr<const memory::Charge> charge;  // what it costs the host; both ends of a pipe have one

  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  bool may_wait() const { return kind == Kind::kStream || kind == Kind::kPipe; }
  bool is_memory() const { return kind == Kind::kMemory; }
  bool readable() const { return !path_only && (flags & 3) != 1; }
  bool writable() const { return !path_only && (flags & 3) != 0; }
};

class FileTable {
 public:
  static constexpr u64 kMaxFiles = 1024;

  struct Entry {
    std::shared_ptr<OpenFile> file;
    bool close_on_exec = false;
  };

  // Whether the guest may hold so many more of the host's descriptors.
  bool may_open(u64 count) const { return *open_files_ + count <= most_open_; }
  void set_most_open(u64 most) { most_open_ = most; }
  // A file around a host descriptor, which it owns and counts.
  std::shared_ptr<OpenFile> make(int host_fd);

  // Null when there is none.
  std::shared_ptr<OpenFile> get(u64 fd) const;
  Entry* entry(u64 fd);
  // The lowest free descriptor at or above `lowest`, or -EMFILE.
  i64 add(std::shared_ptr<OpenFile> file, bool close_on_exec, u64 lowest = 0);
  void put(u64 fd, std::shared_ptr<OpenFile> file, bool close_on_exec);  // fd < kMaxFiles
  bool close(u64 fd);
  void set_limit(u64 limit) { limit_ = limit < kMaxFiles ? limit : kMaxFiles; }
  u64 limit() const { return limit_; }

 private:
  std::vector<Entry> entries_;
  u64 limit_ = kMaxFiles;
  std::shared_ptr<u64> open_files_ = std::make_shared<u64>(0);
  u64 most_open_ = ~u64{0};
};

// Wraps one of the host's standard descriptors; null if it is closed.
std::shared_ptr<OpenFile> borrow_host_file(int host_fd);

}  // namespace kvrm::linux_abi
