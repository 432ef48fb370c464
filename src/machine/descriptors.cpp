#include "machine/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "linux/file_table.h"

namespace kvrm {

u64 descriptors_of(const Options& options) {
  if (options.descriptors != 0) return options.descriptors;
  constexpr u64 kKept = 256;  // for the machine's own files, and for those that calls open for a moment
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kKept;
  return limit.rlim_cur - std::min<u64>(kKept, limit.rlim_cur / 2);
}

u64 descriptor_share(u64 all, u64 guests) {
  constexpr u64 kFewest = 16;    // any program needs a few
  constexpr u64 kSurroundings = 2;  // a process holds its root and its current folder
  const u64 part = all / std::max<u64>(guests, 1);
  return std::clamp<u64>(part - std::min(part, kSurroundings), kFewest, linux_abi::FileTable::kMaxFiles);
}

}  // namespace kvrm
