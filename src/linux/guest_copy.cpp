#include "linux/guest_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kvrm::linux_abi {

i64 copy_text(const memory::GuestMemory& memory, u64 address, u64 limit, std::string& to) {
  to.clear();
  char buffer[memory::kPageSize];
  while (to.size() < limit) {
    // Never past the page: the string may end just before memory that is not there.
    const u64 in_page = memory::kPageSize - address % memory::kPageSize;
    const u64 size = std::min(in_page, limit - to.size());
    if (!memory.read(address, buffer, size)) return -EFAULT;
    if (const void* end = std::memchr(buffer, 0, size)) {
      to.append(buffer, std::size_t(static_cast<const char*>(end) - buffer));
      return 0;
    }
    to.append(buffer, size);
    address += size;
  }
  return -ENAMETOOLONG;
}

}  // namespace kvrm::linux_abi
