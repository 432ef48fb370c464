// Words of a lane's memory that somebody has taken in, and of whose writes he wants to know. Freestanding.
#pragma once

#include "memory/page.h"

namespace kvrm::memory {

inline constexpr u32 kStretchWords = 64;
inline constexpr u64 kStretchBytes = u64{kStretchWords} * 4;
inline constexpr u64 kNoStretch = ~u64{0};

// So many words from an aligned address.
struct WatchedStretch {
  u64 start;    // or kNoStretch
  u64 taken;    // a bit for each word that was taken in
  u64 written;  // and has been written since
};

// A direct-mapped table of them. The lane's entry of a page that has any says so (kEntryWatched).
struct LaneWatch {
  WatchedStretch* stretches;  // null: nothing is watched
  u32 count;                  // a power of two
  u32 misses;                 // writes to pages with watched words that changed none of these
  bool any;                   // something may be watched

  // Neighbours fall into different slots, and so do the same places of neighbouring pages.
  KVRM_INLINE u32 slot_of(u64 address) const {
    const u32 number = static_cast<u32>(address / kStretchBytes);
    return (number ^ number >> 4) & (count - 1);
  }

  // All of them, or those of a page. Gives whether there were any.
  bool forget() {
    const bool found = forget_if([](u64) { return true; });
    any = false;
    return found;
  }
  bool forget_page(u64 address) {
    return forget_if([&](u64 start) { return (start ^ address) / kPageSize == 0; });
  }

  // Bytes of one page were written. Gives whether a word was among them that somebody has taken.
  bool note(u64 address, u64 size) {
    bool hit = false;
    const u64 end = address + size;
    for (u64 start = address & ~(kStretchBytes - 1); start < end && count != 0; start += kStretchBytes) {
      WatchedStretch& stretch = stretches[slot_of(start)];
      if (stretch.start != start) continue;
      const u64 first = address > start ? (address - start) / 4 : 0;
      const u64 last = end - start < kStretchBytes ? (end - start - 1) / 4 : kStretchWords - 1;
      const u64 written = stretch.taken & ~u64{0} << first & ~u64{0} >> (kStretchWords - 1 - last);
      stretch.written |= written;
      hit |= written != 0;
    }
    return hit;
  }

 private:
  template <class Which>
  bool forget_if(Which which) {
    bool found = false;
    for (u32 i = 0; any && i < count; ++i) {
      if (stretches[i].start == kNoStretch || !which(stretches[i].start)) continue;
      stretches[i].start = kNoStretch;
      found = true;
    }
    return found;
  }
};

}  // namespace kvrm::memory
