// Where linked regions access windows, and where they continue if an access faults.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "memory/window_faults.h"

namespace kvrm::translator {

// Safe for any number of threads.
class WindowAccesses {
 public:
  // Enters the accesses that an object file lists in its __ex_table; `code` is the address of its function. Returns
  // their addresses.
  std::vector<const void*> add(std::span<const char> object, const u8* code);
  void remove(std::span<const void* const> accesses);

 private:
  memory::LandingTable table_;
  // Regions lie anywhere; the table knows each access.
  memory::RegisteredCode registered_{nullptr, reinterpret_cast<const void*>(~u64{0}),
                                     &memory::LandingTable::find_landing, &table_};
};

}  // namespace kvrm::translator
