// The files that mappings were made from, by the number their areas carry (memory::Backing). A mapping outlives its
// descriptor, so the file is kept open; files that nothing maps any more are closed when room is needed.
#pragma once

#include <memory>
#include <vector>

#include "base/types.h"
#include "linux/file_table.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

class MappedFiles {
 public:
  static constexpr u64 kMostFiles = 1024;

  // The file's number, or 0: too many files are mapped.
  u64 add(const std::shared_ptr<OpenFile>& file, const memory::GuestMemory& memory);
  // Null if the number is no file's.
  std::shared_ptr<OpenFile> find(u64 id) const;
  bool empty() const { return files_.empty(); }
  u64 kept() const;  // files that are held open
  void drop_unmapped(const memory::GuestMemory& memory);

 private:
  std::vector<std::shared_ptr<OpenFile>> files_;  // number - 1; null: free
};

}  // namespace kvrm::linux_abi
