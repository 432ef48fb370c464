// The frames of a lane's private pages: from the pool, or in its window. Part of lane_memory_map.h.
#pragma once

#include "memory/freestanding/lane_memory.h"

namespace kvrm::memory {

// The lanes here now that ask for the same thing, so that one of them does it for all. On the host a lane is alone.
#if defined(__NVPTX__)
class Peers {
 public:
  KVRM_INLINE Peers(const void* thing, u32) : mask_(warp::match(warp::active_mask(), reinterpret_cast<u64>(thing))) {}
  KVRM_INLINE bool first() const { return static_cast<u32>(__builtin_ctz(mask_)) == warp::lane(); }
  KVRM_INLINE u32 lanes() const { return mask_; }
  KVRM_INLINE void sync() const { warp::sync(mask_); }

 private:
  u32 mask_;
};
#else
class Peers {
 public:
  Peers(const void*, u32 lane) : mask_(1u << lane) {}
  bool first() const { return true; }
  u32 lanes() const { return mask_; }
  void sync() const {}

 private:
  u32 mask_;
};
#endif

inline u32 LaneMemory::allocate_frame(u64 address) {
  SlabPool& frames = space_->world->frames;
  LaneWindow& window = space_->window;
  if (window && window.claim(window.place(address))) return frames.count + window.number(window.place(address));
  return frames.allocate();
}
inline u8* LaneMemory::frame_at(u32 index) const {
  const SlabPool& frames = space_->world->frames;
  return index < frames.count ? frames.at(index) : space_->window.base + (u64{index - frames.count} << kPageShift);
}
inline void LaneMemory::release_frame(u32 index) {
  SlabPool& frames = space_->world->frames;
  if (index < frames.count) return frames.release(index);
  space_->window.release(reinterpret_cast<u64>(frame_at(index)));
}

// Makes lanes owners of the page's frame, which is allocated if there is none. Without memory nothing happens.
inline void LaneMemory::join(u64 address, GroupPage& page, u32 lanes) {
  u32 fresh = SlabPool::kNone;
  u64 seen = sync::load<sync::kRelaxed, sync::kDevice>(&page.state);
  for (;;) {
    if (static_cast<u32>(seen) == 0 && fresh == SlabPool::kNone) {
      fresh = allocate_frame(address);
      if (fresh == SlabPool::kNone) {
        // Perhaps another lane had more luck.
        seen = sync::load<sync::kRelaxed, sync::kDevice>(&page.state);
        if (static_cast<u32>(seen) == 0) return;
      }
    }
    const u64 wanted = (static_cast<u32>(seen) != 0 ? seen : u64{fresh} + 1) | u64{lanes} << 32;
    const u64 found = sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&page.state, seen, wanted);
    if (found == seen) break;
    seen = found;
  }
  if (fresh != SlabPool::kNone && static_cast<u32>(seen) != 0) release_frame(fresh);
}

// Several words at a time: one by one, each would be waited for.
inline void copy_page(u64 from, u64 to, bool from_zeros) {
  constexpr u32 kAtOnce = 16;
  static_assert(kPageWords % kAtOnce == 0);
  for (u64 at = 0; at < kPageSize; at += kAtOnce * 8) {
    u64 words[kAtOnce];
#pragma GCC unroll 16
    for (u32 i = 0; i < kAtOnce; ++i) words[i] = from_zeros ? 0 : load_global<u64>(lane_byte(from, at + u64{i} * 8));
#pragma GCC unroll 16
    for (u32 i = 0; i < kAtOnce; ++i) store_global(lane_byte(to, at + u64{i} * 8), words[i]);
  }
}

// A copy of its own for the lane. The group's lanes that ask for the same page together get it together.
inline bool LaneMemory::make_private(u64 address, u64& entry, GroupPage& page) {
  LaneWorld& world = *space_->world;
  const bool counted = entry & kEntryCounted;
  if (!counted && space_->private_pages >= space_->page_limit) return false;
  if (entry & kEntryCopied) {
    page.state = u64{1} << 32 | (world.frames.count + space_->window.number(entry & kEntryAddress) + 1);
    entry = (entry & ~(kEntryCopied | kEntryCounted)) | kEntryPrivate;
    space_->private_pages += !counted;
    ++space_->changes;
    return true;
  }
  const Peers peers(&page, space_->lane);
  if (peers.first()) join(address, page, peers.lanes());
  peers.sync();
  const u64 state = sync::load<sync::kRelaxed, sync::kDevice>(&page.state);
  if (!(state >> 32 >> space_->lane & 1)) return false;
  u8* const first = frame_at(static_cast<u32>(state) - 1) + space_->lane * u64{8};
  const u64 copy = reinterpret_cast<u64>(first) | world.group_shift;
  const u64 old = entry & kEntryAddress;
  copy_page(old, copy, old == reinterpret_cast<u64>(world.zeros));
  entry = copy | (entry & ~(kEntryAddress | kEntryCounted)) | kEntryPrivate;
  space_->private_pages += !counted;
  ++space_->changes;
  return true;
}

// A caller that drops pages has a fence before: what this lane wrote comes before what the frame's next owner writes.
inline void LaneMemory::drop(u64& entry, GroupPage& page) {
  if (entry & (kEntryPrivate | kEntryCounted)) --space_->private_pages;
  if (entry & kEntryCopied) space_->window.release(entry & kEntryAddress);
  if (entry & kEntryPrivate) {
    u64 seen = sync::load<sync::kRelaxed, sync::kDevice>(&page.state);
    for (;;) {
      const u64 others = seen & ~(u64{1} << (32 + space_->lane));
      const u64 rest = others >> 32 != 0 ? others : 0;
      const u64 found = sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&page.state, seen, rest);
      if (found == seen) {
        // The last owner releases the frame.
        if (rest == 0) release_frame(static_cast<u32>(seen) - 1);
        break;
      }
      seen = found;
    }
  }
  entry = 0;
}

// Regions read it there, too, if no other page is at its place.
inline void LaneMemory::copy_to_window(u64 address, u64& entry) {
  const u64 place = space_->window.place(address), from = entry & kEntryAddress;
  if (!space_->window.claim(place)) return;
  copy_page(from, place, from == reinterpret_cast<u64>(space_->world->zeros));
  entry = (entry & ~kEntryAddress) | place | kEntryCopied;
}

}  // namespace kvrm::memory
