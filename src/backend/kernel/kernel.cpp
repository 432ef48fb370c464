// The kernel: one warp for each group of lanes. Compiled by clang for nvptx64; see CMakeLists.txt.
#define KVRM_VECTORS_ELSEWHERE
#include "backend/kernel/group.h"
#include "base/warp.h"

namespace kvrm::backend::kernel {
namespace {

// An odd number of words, so that the same member of neighboring lanes is in different banks.
static_assert(sizeof(memory::ResidentLane) / 8 % 2 == 1);
// A lane that is alone in its warp has the shared memory of the warp.
static_assert((sizeof(memory::ResidentLane) + memory::kAloneL1Gap) % 16 == 0);
static_assert(sizeof(memory::ResidentLane) + memory::kAloneL1Bytes <= 32 * sizeof(memory::ResidentLane));

// Lanes of a warp that run together: all of them, so that the mask is a constant and a vote one instruction, or some.
template <bool kWhole>
class LanesTogether {
 public:
  static constexpr bool kAlone = false;
  static constexpr bool kPrivateJumps = kWhole;
  KVRM_INLINE explicit LanesTogether(u32 mask) : mask_(mask) {}
  KVRM_INLINE bool any(bool condition) const { return warp::any(mask(), condition); }
  KVRM_INLINE bool agree(bool inside, u32 key) const {
    // All of them exchange keys, whatever they vote.
    const u32 leading = warp::shuffle(mask(), key, static_cast<u32>(__builtin_ctz(mask())));
    return warp::all(mask(), inside && key == leading);
  }
  KVRM_INLINE u32 least(u32 value) const { return warp::reduce_min(mask(), value); }

 private:
  KVRM_INLINE u32 mask() const { return kWhole ? warp::kAll : mask_; }
  u32 mask_;
};

class LaneAlone {
 public:
  static constexpr bool kAlone = true;
  static constexpr bool kPrivateJumps = true;
  KVRM_INLINE explicit LaneAlone(u32) {}
  KVRM_INLINE bool any(bool condition) const { return condition; }
  KVRM_INLINE bool agree(bool inside, u32) const { return inside; }
  KVRM_INLINE u32 least(u32 value) const { return value; }
};

// All threads of the warp (backend/kernel/warp_loops.h).
class GpuThreads {
 public:
  KVRM_INLINE u32 me() const { return warp::thread() % 32; }
  KVRM_INLINE void sync() const { warp::sync(); }
  KVRM_INLINE bool any(bool condition) const { return warp::any(warp::kAll, condition); }
  KVRM_INLINE u32 least(u32 value) const { return warp::reduce_min(warp::kAll, value); }
  KVRM_INLINE kvrm::u64 least(kvrm::u64 value) const { return warp::reduce_min(warp::kAll, value); }
  KVRM_INLINE kvrm::u64 shuffle(kvrm::u64 value, u32 from) const { return warp::shuffle(warp::kAll, value, from); }
};

class GpuWarp {
 public:
  using Together = LanesTogether<false>;
  using Whole = LanesTogether<true>;
  using Alone = LaneAlone;

  KVRM_INLINE explicit GpuWarp(u32 group_shift) : mask_(group_shift == 5 ? ~0u : (1u << (1u << group_shift)) - 1) {}
  KVRM_INLINE u32 ballot(bool value) const { return alone() ? value : warp::ballot(mask_, value); }
  template <class T>
  KVRM_INLINE T shuffle(T value, u32 from) const {
    return alone() ? value : warp::shuffle(mask_, value, from);
  }
  KVRM_INLINE u32 reduce_min(u32 value) const { return alone() ? value : warp::reduce_min(mask_, value); }
  KVRM_INLINE void pause() const { sync::pause(200); }
  KVRM_INLINE kvrm::u64 nanoseconds() const { return warp::nanoseconds(); }
  KVRM_INLINE kvrm::u64 cycles() const { return warp::cycles(); }
  KVRM_INLINE GpuThreads threads() const { return {}; }

 private:
  KVRM_INLINE bool alone() const { return mask_ == 1; }
  u32 mask_;
};

}  // namespace
}  // namespace kvrm::backend::kernel

using namespace kvrm;
using namespace kvrm::backend::kernel;

#define KVRM_SHARED __attribute__((address_space(3)))
extern "C" KVRM_SHARED memory::ResidentLane kvrm_resident[];

namespace {

// The lane's registers and L1 TLB, in the GPU's shared memory.
struct SharedHome {
  u32 thread;
  KVRM_INLINE Cpu& cpu() const { return *(Cpu*)(KVRM_SHARED Cpu*)&kvrm_resident[thread].cpu; }
  KVRM_INLINE memory::LaneTlb* pages() const {
    return (memory::LaneTlb*)(KVRM_SHARED memory::LaneTlb*)&kvrm_resident[thread].pages;
  }
  // Memory of a warp with loops, if the lane is alone.
  KVRM_INLINE kvrm::u64* spare() const { return (kvrm::u64*)((u8*)(pages() + 1) + memory::kAloneL1Bytes); }
  KVRM_INLINE u32 spare_words() const { return kWarpSpareWords; }
  KVRM_INLINE interpreter::RegionEnd run_region(const interpreter::LaneRegion& region, u32 budget) const {
    const auto run = reinterpret_cast<interpreter::RegionEnd (*)(u32, u32, u32)>(region.code);
    return run(static_cast<u32>((kvrm::u64)(KVRM_SHARED u8*)&kvrm_resident[thread]), budget, region.entry_point);
  }
};

}  // namespace

// A group for each warp; a warp that has finished its group takes another.
extern "C" __attribute__((nvptx_kernel)) void kvrm_run(const Launch* given) {
  const Launch& launch = *given;
  const u32 lane_in_warp = warp::thread() % 32;
  const u32 warps = warp::blocks() * (warp::block_size() / 32);
  const u32 first = warp::block() * (warp::block_size() / 32) + warp::thread() / 32;
  if (lane_in_warp >> launch.group_shift != 0) {
    if (launch.loop_count != 0) help_lane(GpuThreads(), SharedHome{warp::thread() - lane_in_warp}, launch, first);
    return;
  }
  const u32 groups = ((launch.lane_count - 1) >> launch.group_shift) + 1;
  alignas(16) U128 vectors[32];  // clang loads vectors of bytes whole, whatever their type's alignment
  for (u32 group = first; group < groups; group += warps) {
    const u32 lane = (group << launch.group_shift) + lane_in_warp;
    run_group(GpuWarp(launch.group_shift), launch, launch.lanes[lane], SharedHome{warp::thread()}, first, vectors);
  }
  if (launch.loop_count != 0) release_helpers(GpuThreads(), SharedHome{warp::thread()}, launch, first);
}

// Before the first launch: a thread for each lane.
extern "C" __attribute__((nvptx_kernel)) void kvrm_prepare(const Launch* launch) {
  const u32 lane = warp::block() * warp::block_size() + warp::thread();
  if (lane < launch->lane_count) prepare_lane(*launch, lane);
  if (lane == 0 && sync::kHasExchange16) launch->world->shared_locks = nullptr;
}

// Before the first launch, and between two when there are new regions. Pass 0 decodes every word that may be code,
// pass 1 installs regions, pass 2 loops, pass 3 counts block lengths. No lane runs meanwhile, so none needs to
// synchronize.
extern "C" __attribute__((nvptx_kernel)) void kvrm_decode(const Launch* launch, u32 pass) {
  const kvrm::u64 step = kvrm::u64{warp::blocks()} * warp::block_size();
  for (kvrm::u64 i = warp::block() * warp::block_size() + warp::thread(); i < launch->image_bytes / 4; i += step) {
    if (pass == 0) {
      decode_image_word(*launch, i);
      copy_plain_word(*launch, i);
    } else if (pass == 1) {
      if (i < launch->region_count) install_region(*launch, static_cast<u32>(i));
    } else if (pass == 2) {
      if (i < launch->loop_count) install_loop(*launch, static_cast<u32>(i));
    } else {
      count_block_lengths(*launch, i);
    }
  }
}

// Between launches: lane `number` executes the host's commands on its memory, through the first slot of the mailbox,
// until it gets a reply.
extern "C" __attribute__((nvptx_kernel)) void kvrm_serve(const Launch* given, u32 number) {
  const Launch& launch = *given;
  Lane& lane = launch.lanes[number];
  memory::ResidentLane resident;
  alignas(16) U128 vectors[32];
  resident.cpu.q = vectors;
  memory::LaneMemory memory(&lane.space, &resident.pages);
  memory::LaneTlbEntry far;
  memory.reset_tlb(&far, 1, 0, false);
  const LaneState state = mailbox_state(resident.cpu, lane.process);
  Outcome outcome;
  while (serve(launch.mailbox, 0, memory, state, outcome) != Poll::kDone) sync::pause(200);
}
