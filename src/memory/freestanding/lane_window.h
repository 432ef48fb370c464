// The window of a lane that is alone in its group: one piece of memory in which a page at address A has its place at
// A mod the window's size, unless another page is there. So a region knows where a page is before it knows whether it
// is there. Freestanding.
#pragma once

#include "base/types.h"
#include "memory/freestanding/page.h"
#include "memory/freestanding/policy.h"

namespace kvrm::memory {

// What regions may read behind the last window: the longest range of accesses that share a lookup.
inline constexpr u64 kWindowGuard = 512;

// The address of a window is a multiple of its size, so that a place is put together by one instruction.
constexpr u64 first_window(u64 from, u32 shift) { return (from + (u64{1} << shift) - 1) >> shift << shift; }

struct LaneWindow {
  u8* base = nullptr;   // null: the lane has none
  u32* used = nullptr;  // a bit for each place
  u32 shift = 0;        // 1 << shift bytes

  explicit operator bool() const { return base != nullptr; }
  static constexpr u64 words(u32 shift) { return (u64{1} << (shift - kPageShift)) / 32; }

  u64 place(u64 address) const {
    return reinterpret_cast<u64>(base) + (address & ((u64{1} << shift) - 1) & ~(kPageSize - 1));
  }
  u32 number(u64 place) const { return static_cast<u32>((place - reinterpret_cast<u64>(base)) >> kPageShift); }
  bool is_free(u64 place) const {
    const u32 at = number(place);
    return (used[at / 32] >> at % 32 & 1) == 0;
  }
  // Whether nothing was there: now it is the caller's.
  bool claim(u64 place) {
    if (!is_free(place)) return false;
    const u32 at = number(place);
    used[at / 32] |= 1u << at % 32;
    return true;
  }
  void release(u64 place) {
    const u32 at = number(place);
    used[at / 32] &= ~(1u << at % 32);
  }
};

// Of all lanes, one after the other; shift 0: none.
struct LaneWindows {
  u32 shift;
  u8* first;
  u32* used;

  LaneWindow of(u64 lane) const {
    if (shift == 0) return {};
    return {first + (lane << shift), used + lane * LaneWindow::words(shift), shift};
  }
};

}  // namespace kvrm::memory
