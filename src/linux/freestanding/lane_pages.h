// Calls about memory that is already mapped; madvise is in lane_advice.h.
#pragma once

#include "linux/freestanding/lane_context.h"
#include "linux/freestanding/layout.h"
#include "memory/freestanding/areas.h"

namespace kvrm::linux_abi::lane {

// A range of whole pages out of the first two arguments: 0 or -errno.
struct PageRange {
  u64 address = 0, size = 0;
};
template <class Call>
i64 page_range(const Call& call, i64 too_far, PageRange& range) {
  range.address = untagged(call.a[0]);
  if (range.address % memory::kPageSize != 0) return -kEinval;
  if (call.a[1] > memory::kAddressLimit) return too_far;
  range.size = page_up(call.a[1]);
  return range.address > memory::kAddressLimit - range.size ? too_far : 0;
}

template <class Call>
bool all_mapped(Call& call, const PageRange& range) {
  return range.size == 0 || call.memory.is_mapped(range.address, range.size);
}

// Up to the first hole, or to the first area that may not be written.
template <class Call>
i64 protect_pages(Call& call, const PageRange& range, u32 protection) {
  const u64 end = range.address + range.size;
  i64 result = 0;
  u64 at = range.address;
  for (memory::Area area; at < end && result == 0;) {
    if (!call.memory.next_area(at, area) || area.start > at) {
      result = -kEnomem;
    } else if ((protection & memory::kWrite) && (area.flags & memory::kAreaReadOnly)) {
      result = -kEacces;
    } else {
      at = least(area.end, end);
    }
  }
  if (at != range.address && !call.memory.protect(range.address, at - range.address, protection)) return -kEnomem;
  return result;
}

template <class Call>
i64 mprotect(Call& call) {
  constexpr u32 kGrowsDown = 0x01000000, kGrowsUp = 0x02000000, kSemaphore = 8;
  u32 prot = call.uint_arg(2);
  const u32 grows = prot & (kGrowsDown | kGrowsUp);
  if (grows == (kGrowsDown | kGrowsUp)) return -kEinval;
  prot &= ~grows;
  PageRange range;
  if (untagged(call.a[0]) % memory::kPageSize != 0) return -kEinval;
  if (call.a[1] == 0) return 0;
  if (const i64 error = page_range(call, -kEnomem, range)) return error;
  if (prot & ~(7u | kSemaphore)) return -kEinval;
  // Growing downwards means: from the start of the stack's area. The stack is mapped whole.
  if (grows == kGrowsDown && range.address >= kStackBottom && range.address < kStackTop) {
    range.size += range.address - kStackBottom;
    range.address = kStackBottom;
  } else if (grows != 0) {
    return -kEinval;
  }
  return protect_pages(call, range, guest_protection(prot));
}

template <class Call>
i64 mincore(Call& call) {
  constexpr u64 kAtOnce = 64 << 10;
  PageRange range;
  if (const i64 error = page_range(call, -kEnomem, range)) return error;
  if (!all_mapped(call, range)) return -kEnomem;
  // Every mapped page counts as present.
  const u64 ones = 0x0101010101010101;
  for (u64 done = 0, pages = range.size / memory::kPageSize; done < pages;) {
    const u64 n = least(pages - done, kAtOnce), to = call.a[2] + done;
    if (call.memory.accessible(to, n, memory::kWrite) < n) return -kEfault;
    for (u64 i = 0; i < n; i += sizeof ones)
      if (!call.memory.write(to + i, &ones, least(sizeof ones, n - i))) return -kEfault;
    done += n;
  }
  return 0;
}

template <class Call>
i64 msync(Call& call) {
  constexpr u32 kAsync = 1, kInvalidate = 2, kSync = 4;
  const u32 flags = call.uint_arg(2);
  if ((flags & ~(kAsync | kInvalidate | kSync)) != 0 || (flags & (kAsync | kSync)) == (kAsync | kSync)) return -kEinval;
  PageRange range;
  if (const i64 error = page_range(call, -kEnomem, range)) return error;
  return all_mapped(call, range) ? 0 : -kEnomem;
}

template <class Call>
i64 mlock(Call& call) {
  // Takes any address; the pages around the range count.
  const u64 start = page_down(untagged(call.a[0]));
  const u64 extra = untagged(call.a[0]) - start;
  if (call.a[1] > memory::kAddressLimit || start > memory::kAddressLimit - call.a[1]) return -kEnomem;
  const u64 size = page_up(call.a[1] + extra);
  if (start > memory::kAddressLimit - size) return -kEnomem;
  return all_mapped(call, {start, size}) ? 0 : -kEnomem;
}

}  // namespace kvrm::linux_abi::lane
