// Compiled with KVRM_VECTORS_ELSEWHERE and the kernel's flags; see CMakeLists.txt.
#include "simulated_kernel.h"

#include <thread>
#include <vector>

#include "device/lanes/group.h"
#include "simulated_warp.h"

namespace kvrm::device::test {
namespace {

// The lane's fast state.
struct OwnHome {
  memory::ResidentLane* resident;
  Cpu& cpu() const { return resident->cpu; }
  memory::KnownPages* pages() const { return &resident->pages; }
  // A region here is a function of the test's.
  interpreter::RegionEnd run_region(u64 code, u32 budget) const {
    return reinterpret_cast<interpreter::RegionEnd (*)(void*, u32)>(code)(resident, budget);
  }
};

}  // namespace

void simulate_run(const lanes::Launch& launch, Lanes kind, u64 seed) {
  const u32 size = 1u << launch.group_shift, groups = launch.lane_count >> launch.group_shift;
  std::vector<std::jthread> threads;
  for (u32 group = 0; group < groups; ++group) {
    threads.emplace_back([&launch, kind, seed, size, group] {
      run_warp(kind, size, seed + group, [&](SimulatedWarp& warp, u32 number) {
        struct {
          memory::ResidentLane lane{};
          memory::LaneTranslation alone[memory::kAloneTranslations + 1];
        } resident;
        U128 vectors[32];
        lanes::Lane& lane = launch.lanes[group * size + number];
        memory::LaneTranslation* const far =
            launch.far_pages + (u64{group} * launch.far_slots << launch.group_shift) + number;
        lanes::run_group(WarpOfLane(warp, number), launch, lane, OwnHome{&resident.lane}, far, vectors);
      });
    });
  }
}

void simulate_prepare(const lanes::Launch& launch) {
  for (u32 i = 0; i < launch.lane_count; ++i) lanes::prepare_lane(launch, i);
}

void simulate_decode(const lanes::Launch& launch) {
  const u64 words = launch.image_bytes / 4;
  for (u64 i = 0; i < words; ++i) lanes::decode_image_word(launch, i);
  for (u32 i = 0; i < launch.region_count; ++i) lanes::place_region(launch, i);
  for (u64 i = 0; i < words; ++i) launch.decoded[i].straight = interpreter::straight_words(launch.decoded, i, words);
}

}  // namespace kvrm::device::test
