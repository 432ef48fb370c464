// Every atomic, vote, mailbox and ring function, instantiated, so that a compiler for the GPU must make code of it.
#include "backend/kernel/mailbox.h"
#include "backend/kernel/output_ring.h"
#include "base/atomics.h"
#include "base/warp.h"

using namespace kvrm;
using namespace kvrm::backend::kernel;
using namespace kvrm::sync;

namespace {

template <Scope kScope, class T>
KVRM_INLINE u64 every_access(T* at) {
  u64 sum = load<kRelaxed, kScope>(at);
  sum += load<kAcquire, kScope>(at);
  store<kRelaxed, kScope>(at, 1);
  store<kRelease, kScope>(at, 2);
  sum += compare_exchange<kRelaxed, kScope>(at, 1, 2);
  return sum + compare_exchange<kAcqRel, kScope>(at, 1, 2);
}

template <Order kOrder, Scope kScope, class T>
KVRM_INLINE u64 every_change(T* at) {
  u64 sum = add<kOrder, kScope>(at, 1);
  sum += fetch_and<kOrder, kScope>(at, 2);
  sum += fetch_or<kOrder, kScope>(at, 3);
  sum += exchange<kOrder, kScope>(at, 4);
  sum += fetch_min<kOrder, kScope>(at, 5);
  return sum + fetch_max<kOrder, kScope>(at, 6);
}

template <Scope kScope>
KVRM_INLINE u64 every_width(u8* a, u16* b, u32* c, u64* d) {
  u64 sum = every_access<kScope>(a) + every_access<kScope>(b) + every_access<kScope>(c) + every_access<kScope>(d);
  sum += every_change<kRelaxed, kScope>(c) + every_change<kRelaxed, kScope>(d);
  sum += every_change<kAcquire, kScope>(c) + every_change<kRelease, kScope>(d);
  sum += every_change<kAcqRel, kScope>(c) + every_change<kAcqRel, kScope>(d);
  fence<kAcqRel, kScope>();
  fence<kSequential, kScope>();
  return sum;
}

// The least that has a memory's members.
struct Memory {
  u8* bytes;
  u64 size;

  u64 accessible(u64 address, u64 count, u32) {
    return address >= size ? 0 : count < size - address ? count : size - address;
  }
  bool read(u64 address, void* to, u64 count) {
    if (accessible(address, count, 0) < count) return false;
    for (u64 i = 0; i < count; ++i) static_cast<u8*>(to)[i] = bytes[address + i];
    return true;
  }
  bool write(u64 address, const void* from, u64 count) {
    if (accessible(address, count, 0) < count) return false;
    for (u64 i = 0; i < count; ++i) bytes[address + i] = static_cast<const u8*>(from)[i];
    return true;
  }
  bool peek(u64 address, void* to, u64 count) { return read(address, to, count); }
  bool poke(u64 address, const void* from, u64 count) { return write(address, from, count); }
  bool map(u64, u64, u32) { return false; }
  bool map_backed(u64, u64, u32, const kvrm::memory::Backing&) { return false; }
  bool unmap(u64, u64) { return false; }
  bool protect(u64, u64, u32) { return false; }
  bool move(u64, u64, u64, u64) { return false; }
  bool discard(u64, u64) { return false; }
  bool is_free(u64, u64) { return false; }
  bool is_mapped(u64, u64) { return true; }
  u64 find_free(u64, u64, u64) { return kNoRoom; }
  u64 set_page_limit(u64 pages) { return pages; }
  u32 area_count() { return 1; }
  kvrm::memory::Area area(u32) { return {0, size, 3, 0, 0, 0}; }
  bool next_area(u64, kvrm::memory::Area& found) {
    found = area(0);
    return true;
  }
};

}  // namespace

extern "C" u64 kvrm_every_atomic(u8* a, u16* b, u32* c, u64* d, U128* e) {
  pause(100);
  u64 sum = every_width<kDevice>(a, b, c, d) + every_width<kSystem>(a, b, c, d);
  if constexpr (kHasExchange16) sum += compare_exchange_16<kDevice>(e, {1, 2}, {3, 4}).lo;
  return sum;
}

#if defined(__NVPTX__)
extern "C" u64 kvrm_every_vote(u32 mask, u64 value) {
  const u32 low = static_cast<u32>(value);
  u64 sum = warp::lane() + warp::thread() + warp::block() + warp::blocks() + warp::block_size() + warp::active_mask();
  sum += warp::ballot(mask, low == 1) + warp::any(mask, low == 2) + warp::all(mask, low == 3);
  sum +=
      warp::shuffle(mask, value, 3) + warp::shuffle(mask, low, 3) + warp::match(mask, value) + warp::match(mask, low);
  sum += warp::reduce_min(mask, value) + warp::reduce_max(mask, low) + warp::reduce_add(mask, low);
  sum += warp::nanoseconds() + warp::cycles();
  warp::sync(mask);
  return sum;
}
#endif

extern "C" u32 kvrm_every_step(const Mailbox* mailbox, const OutputRing* ring, Memory* memory, Cpu* cpu, u64* process,
                               u32* slot, Outcome* outcome, OutputProgress* progress, u64 size) {
  const LaneState state{cpu, process, 40};
  const auto fill = [&](u64 offset) {
    u64 word = 0;
    memory->read(cpu->x[1] + offset, &word, sizeof word);
    return word;
  };
  if (!write_output(*ring, 1, Stream::kOut, size, *progress, fill)) drop_output(*ring, size, *progress);
  if (*slot == kNoSlot) {
    *slot = claim(*mailbox, 5);
    if (*slot == kNoSlot) return 0;
    post(*mailbox, *slot, {RequestKind::kSystemCall, Trap::kNone, 5, 7}, state);
  }
  return static_cast<u32>(serve(*mailbox, *slot, *memory, state, *outcome));
}
