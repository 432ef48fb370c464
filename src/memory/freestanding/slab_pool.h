// A pool of equal pieces of memory that many lanes allocate and release at once. Freestanding.
#pragma once

#include "base/atomics.h"

namespace kvrm::memory {

struct SlabPool {
  u8* base;        // piece i is at base + i * bytes
  u64 bytes;       // of one piece
  u32 count;       // how many there are
  u32 handed_out;  // pieces that were ever used; those after are as the host prepared them, all zeros
  u64 free;        // a stack of released pieces: index + 1 of the first below, a count of changes above
  u32* next;       // of each piece in that stack: index + 1 of the one below
  u32 in_use;      // for statistics

  static constexpr u32 kNone = ~0u;

  // The index of a piece, or kNone. A piece that was used before is not cleared.
  u32 allocate() {
    u64 head = sync::load<sync::kRelaxed, sync::kDevice>(&free);
    while (static_cast<u32>(head) != 0) {
      const u32 index = static_cast<u32>(head) - 1;
      const u64 rest = ((head >> 32) + 1) << 32 | sync::load<sync::kRelaxed, sync::kDevice>(&next[index]);
      const u64 seen = sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&free, head, rest);
      if (seen == head) {
        // What its last owner wrote there comes before what the next one writes.
        sync::fence<sync::kAcqRel, sync::kDevice>();
        sync::add<sync::kRelaxed, sync::kDevice>(&in_use, 1u);
        return index;
      }
      head = seen;
    }
    if (sync::load<sync::kRelaxed, sync::kDevice>(&handed_out) >= count) return kNone;
    const u32 index = sync::add<sync::kRelaxed, sync::kDevice>(&handed_out, 1u);
    if (index >= count) {
      sync::add<sync::kRelaxed, sync::kDevice>(&handed_out, ~0u);
      return kNone;
    }
    sync::add<sync::kRelaxed, sync::kDevice>(&in_use, 1u);
    return index;
  }

  void release(u32 index) {
    sync::fence<sync::kAcqRel, sync::kDevice>();
    u64 head = sync::load<sync::kRelaxed, sync::kDevice>(&free);
    for (;;) {
      sync::store<sync::kRelaxed, sync::kDevice>(&next[index], static_cast<u32>(head));
      const u64 mine = ((head >> 32) + 1) << 32 | (index + 1);
      const u64 seen = sync::compare_exchange<sync::kRelease, sync::kDevice>(&free, head, mine);
      if (seen == head) break;
      head = seen;
    }
    sync::add<sync::kRelaxed, sync::kDevice>(&in_use, ~0u);
  }

  u8* at(u32 index) const { return base + index * bytes; }
  u32 index_of(const u8* piece) const { return static_cast<u32>(static_cast<u64>(piece - base) / bytes); }
};

}  // namespace kvrm::memory
