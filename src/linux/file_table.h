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
};

// Wraps one of the host's standard descriptors; null if it is closed.
std::shared_ptr<OpenFile> borrow_host_file(int host_fd);

}  // namespace kvrm::linux_abi
