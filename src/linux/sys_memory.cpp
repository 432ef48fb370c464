// Calls about memory that is already mapped.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linux/kernel_state.h"
#include "linux/layout.h"
#include "linux/protection.h"

namespace kvrm::linux_abi {
namespace {

using memory::kAddressLimit;
using memory::kPageSize;

// A range of whole pages out of the first two arguments: 0 or -errno.
struct Range {
  u64 address = 0, size = 0;
};
i64 page_range(const Call& call, i64 too_far, Range& range) {
  range.address = untagged(call.a[0]);
  if (range.address % kPageSize != 0) return -EINVAL;
  if (call.a[1] > kAddressLimit) return too_far;
  range.size = page_up(call.a[1]);
  return range.address > kAddressLimit - range.size ? too_far : 0;
}

bool all_mapped(const Call& call, const Range& range) {
  return range.size == 0 || call.memory.is_mapped(range.address, range.size);
}

}  // namespace

i64 sys_mprotect(Kernel&, Call& call) {
  constexpr u32 kGrowsDown = 0x01000000, kGrowsUp = 0x02000000, kSemaphore = 8;
  u32 prot = call.uint_arg(2);
  const u32 grows = prot & (kGrowsDown | kGrowsUp);
  if (grows == (kGrowsDown | kGrowsUp)) return -EINVAL;
  prot &= ~grows;
  Range range;
  if (untagged(call.a[0]) % kPageSize != 0) return -EINVAL;
  if (call.a[1] == 0) return 0;
  if (const i64 error = page_range(call, -ENOMEM, range)) return error;
  if (prot & ~(7u | kSemaphore)) return -EINVAL;
  // Growing downwards means: from the start of the stack's area. The stack is mapped whole.
  if (grows == kGrowsDown && range.address >= kStackBottom && range.address < kStackTop) {
    range.size += range.address - kStackBottom;
    range.address = kStackBottom;
  } else if (grows != 0) {
    return -EINVAL;
  }
  if (!all_mapped(call, range)) return -ENOMEM;
  return call.memory.protect(range.address, range.size, guest_protection(prot)) ? 0 : -ENOMEM;
}

i64 sys_madvise(Kernel&, Call& call) {
  constexpr u32 kDontneed = 4;
  // Advice that may be ignored; free (8) too: the pages merely stay.
  constexpr u32 kHarmless[] = {0, 1, 2, 3, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
  const u32 advice = call.uint_arg(2);
  const bool known =
      advice == kDontneed || std::find(std::begin(kHarmless), std::end(kHarmless), advice) != std::end(kHarmless);
  if (!known) return -EINVAL;
  Range range;
  if (const i64 error = page_range(call, -EINVAL, range)) return error;
  if (range.size == 0) return 0;
  if (!all_mapped(call, range)) return -ENOMEM;
  if (advice == kDontneed && !call.memory.discard(range.address, range.size)) return -ENOMEM;
  return 0;
}

i64 sys_mincore(Kernel& kernel, Call& call) {
  Range range;
  if (const i64 error = page_range(call, -ENOMEM, range)) return error;
  if (!all_mapped(call, range)) return -ENOMEM;
  // Every mapped page counts as present.
  std::memset(kernel.buffer().data(), 1, kernel.buffer().size());
  for (u64 done = 0, pages = range.size / kPageSize; done < pages;) {
    const std::size_t n = std::min<std::size_t>(pages - done, kernel.buffer().size());
    if (!call.memory.write(call.a[2] + done, kernel.buffer().data(), n)) return -EFAULT;
    done += n;
  }
  return 0;
}

i64 sys_msync(Kernel&, Call& call) {
  constexpr u32 kAsync = 1, kInvalidate = 2, kSync = 4;
  const u32 flags = call.uint_arg(2);
  if ((flags & ~(kAsync | kInvalidate | kSync)) != 0 || (flags & (kAsync | kSync)) == (kAsync | kSync)) return -EINVAL;
  Range range;
  if (const i64 error = page_range(call, -ENOMEM, range)) return error;
  return all_mapped(call, range) ? 0 : -ENOMEM;
}

i64 sys_mlock(Kernel&, Call& call) {
  // Takes any address; the pages around the range count.
  const u64 start = page_down(untagged(call.a[0]));
  const u64 extra = untagged(call.a[0]) - start;
  if (call.a[1] > kAddressLimit || start > kAddressLimit - call.a[1]) return -ENOMEM;
  const u64 size = page_up(call.a[1] + extra);
  if (start > kAddressLimit - size) return -ENOMEM;
  return all_mapped(call, {start, size}) ? 0 : -ENOMEM;
}

}  // namespace kvrm::linux_abi
