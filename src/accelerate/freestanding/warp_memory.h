// The memory of a lane that is alone in its warp, as bulk steps see it: pages in its TLBs.
#pragma once

#include "memory/freestanding/lane_memory_map.h"

namespace kvrm::accelerate {

class WarpMemory {
 public:
  // `pages` is the lane's. prepare() is for the lane's own thread.
  KVRM_INLINE WarpMemory(memory::LaneSpace* space, memory::LaneTlb* pages) : space_(space), pages_(*pages) {}

  // The address of the byte, if a load or a store of its page does nothing but access it; else 0.
  KVRM_INLINE u64 find(u64 address, bool is_store) const {
    const u64 forbidden = memory::forbidding(is_store ? kvrm::Access::kWrite : kvrm::Access::kRead, false);
    const u64 tag = address & memory::kTagMask;
    const memory::LaneTlbEntry near = memory::l1_page<true>(pages_.l1_slot<true>(address));
    if (((near.tag ^ tag) & (memory::kTagMask | forbidden)) == 0) return near.page + (address & memory::kUntagged);
    const memory::LaneTlbEntry far = pages_.l2_slot(address);
    const u64 asked = memory::kTagMask | memory::kGenerationBits | forbidden;
    if (((far.tag ^ pages_.l2_tag(tag)) & asked) != 0) return 0;
    return far.page + (address & (memory::kPageSize - 1));
  }

  // Does for the page what the access would do first.
  KVRM_COLD bool prepare(u64 address, bool is_store) {
    memory::LaneMemory memory(space_, &pages_);
    const auto page = memory.resolve(address, is_store ? kvrm::Access::kWrite : kvrm::Access::kRead);
    return page.trap == Trap::kNone && find(address, is_store) != 0;
  }

 private:
  memory::LaneSpace* const space_;
  memory::LaneTlb& pages_;
};

// Up to 8 bytes at any address, in the low bytes of the result. Whole words may be read, of the same pages.
KVRM_INLINE u64 load_anywhere(u64 at, u32 size) {
  const u64 first = at & ~u64{7}, last = (at + size - 1) & ~u64{7}, shift = (at & 7) * 8;
  const u64 low = memory::load_global<u64>(reinterpret_cast<const u8*>(first));
  const u64 high = memory::load_global<u64>(reinterpret_cast<const u8*>(last));
  return (low >> shift | high << 1 << (63 - shift)) & (~u64{0} >> (64 - size * 8));
}
KVRM_INLINE void store_anywhere(u64 at, u64 value, u32 size) {
  for (u32 i = 0; i < size; ++i) memory::store_global(reinterpret_cast<u8*>(at + i), static_cast<u8>(value >> i * 8));
}
// At a multiple of the size.
KVRM_INLINE u64 load_aligned(u64 at, u32 size) {
  const u8* const from = reinterpret_cast<const u8*>(at);
  switch (size) {
    case 1: return memory::load_global<u8>(from);
    case 2: return memory::load_global<u16>(from);
    case 4: return memory::load_global<u32>(from);
    default: return memory::load_global<u64>(from);
  }
}
KVRM_INLINE void store_aligned(u64 at, u64 value, u32 size) {
  u8* const to = reinterpret_cast<u8*>(at);
  switch (size) {
    case 1: return memory::store_global(to, static_cast<u8>(value));
    case 2: return memory::store_global(to, static_cast<u16>(value));
    case 4: return memory::store_global(to, static_cast<u32>(value));
    default: return memory::store_global(to, value);
  }
}

}  // namespace kvrm::accelerate
