// Words of a lane's memory that were decoded, and whose writes must be noted: self-modifying code. Freestanding.
#pragma once

#include "memory/freestanding/page.h"

namespace kvrm::memory {

inline constexpr u32 kCodeLineWords = 64;
inline constexpr u64 kCodeLineBytes = u64{kCodeLineWords} * 4;
inline constexpr u64 kNoCodeLine = ~u64{0};

// A code line: kCodeLineWords words from an aligned address.
struct WatchedLine {
  u64 start;    // or kNoCodeLine
  u64 taken;    // a bit for each word that was decoded
  u64 written;  // and has been written since
};

// A direct-mapped table of them. The lane's entry of a page that has any says so (kEntryWatched).
struct LaneWatch {
  WatchedLine* lines;  // null: nothing is watched
  u32 count;                  // a power of two
  u32 misses;                 // writes to pages with watched words that changed none of these
  bool any;                   // something may be watched

  // Neighbors fall into different slots, and so do the same offsets of neighboring pages.
  KVRM_INLINE u32 slot_of(u64 address) const {
    const u32 number = static_cast<u32>(address / kCodeLineBytes);
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

  // Bytes of one page were written. Gives whether a decoded word was among them.
  bool note(u64 address, u64 size) {
    bool hit = false;
    const u64 end = address + size;
    for (u64 start = address & ~(kCodeLineBytes - 1); start < end && count != 0; start += kCodeLineBytes) {
      WatchedLine& line = lines[slot_of(start)];
      if (line.start != start) continue;
      const u64 first = address > start ? (address - start) / 4 : 0;
      const u64 last = end - start < kCodeLineBytes ? (end - start - 1) / 4 : kCodeLineWords - 1;
      const u64 written = line.taken & ~u64{0} << first & ~u64{0} >> (kCodeLineWords - 1 - last);
      line.written |= written;
      hit |= written != 0;
    }
    return hit;
  }

 private:
  template <class Which>
  bool forget_if(Which which) {
    bool found = false;
    for (u32 i = 0; any && i < count; ++i) {
      if (lines[i].start == kNoCodeLine || !which(lines[i].start)) continue;
      lines[i].start = kNoCodeLine;
      found = true;
    }
    return found;
  }
};

}  // namespace kvrm::memory
