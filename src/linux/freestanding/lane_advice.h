// madvise, as Linux 6.1 takes it. Most advice changes nothing that a program could see, but is checked all the same.
#pragma once

#include "linux/freestanding/lane_remap.h"

namespace kvrm::linux_abi {

enum Advice : u32 {
  kAdviseNormal = 0,
  kAdviseDontneed = 4,
  kAdviseFree = 8,
  kAdviseRemove = 9,
  kAdviseDontfork = 10,
  kAdviseWipeOnFork = 18,
  kAdvisePopulateRead = 22,
  kAdvisePopulateWrite = 23,
  kAdviseDontneedLocked = 24,
  kAdvisePoison = 100,
  kAdviseOffline = 101,
};

namespace lane {

constexpr bool is_known_advice(u32 advice) {
  return advice <= kAdviseDontneed || (advice >= kAdviseFree && advice <= kAdviseDontneedLocked) ||
         advice == kAdvisePoison || advice == kAdviseOffline;
}

// Whether one area takes the advice: 0 or -errno.
constexpr i64 check_advice(u32 advice, const memory::Area& area) {
  const bool anonymous = is_private_anonymous(area), writable = (area.protection & memory::kWrite) != 0;
  switch (advice) {
    case kAdviseFree:
    case kAdviseWipeOnFork: return anonymous ? 0 : -kEinval;
    case kAdviseRemove:
      if (anonymous) return -kEinval;
      return (area.flags & memory::kAreaShared) && writable ? 0 : -kEacces;
    case kAdvisePopulateRead: return area.protection & memory::kRead ? 0 : -kEinval;
    case kAdvisePopulateWrite: return writable ? 0 : -kEinval;
    default: return 0;
  }
}

// Gives up the pages of a range, except those that a shared mapping would find again: they belong to what is mapped.
template <class Call>
void drop_range(Call& call, u64 start, u64 end, bool shared_too) {
  u64 from = start;
  const auto drop_to = [&](u64 to) {
    if (from < to) (void)call.memory.discard(from, to - from);
  };
  memory::Area area;
  for (u64 at = start; at < end && call.memory.next_area(at, area) && area.start < end; at = area.end) {
    if (shared_too || !(area.flags & memory::kAreaShared)) continue;
    drop_to(area.start);
    from = area.end;
  }
  drop_to(end);
}

template <class Call>
i64 madvise(Call& call) {
  const u32 advice = call.uint_arg(2);
  const u64 start = untagged(call.a[0]), size = page_up(call.a[1]);
  if (!is_known_advice(advice) || start % memory::kPageSize != 0) return -kEinval;
  if ((call.a[1] != 0 && size == 0) || start + size < start) return -kEinval;
  if (size == 0) return 0;
  if (advice == kAdvisePoison || advice == kAdviseOffline) return -kEperm;
  const bool drops = advice == kAdviseDontneed || advice == kAdviseDontneedLocked;
  const bool removes = advice == kAdviseRemove;
  const bool populates = advice == kAdvisePopulateRead || advice == kAdvisePopulateWrite;
  if ((drops || removes) && call.memory.is_hosts(start, size)) return kNeedsHost;

  // Mappings are advised one by one. A hole is an error, but Linux still advises what comes after it.
  i64 result = 0;
  u64 at = start;
  const u64 end = start + size;
  for (memory::Area area; at < end && (result == 0 || result == -kEnomem);) {
    const bool found = call.memory.next_area(at, area) && area.start < end;
    if (!found || area.start > at) {
      result = -kEnomem;
      if (!found || populates) break;
    }
    if (const i64 error = check_advice(advice, area)) {
      result = error;
    } else {
      at = least(area.end, end);
    }
  }
  if (drops || removes) drop_range(call, start, at, removes);
  return result;
}

}  // namespace lane
}  // namespace kvrm::linux_abi
