// Compiled with KVRM_VECTORS_ELSEWHERE and the kernel's flags; see CMakeLists.txt.
#include "simulated_kernel.h"

#include <thread>
#include <vector>

#include "backend/kernel/group.h"
#include "simulated_region.h"
#include "simulated_warp.h"
#include "translator/freestanding/lane_links.h"

namespace kvrm::backend::test {
namespace {

// Only what the loop runs inline is in these regions; at any other word they are left.
bool run_row(Cpu& cpu, translator::LinkedLaneMemory& memory, u32 word, isa::Row row, Trap& trap) {
  switch (row) {
#define KVRM_REGION_CASE(row, first, choice) \
  case isa::Row::row: trap = semantics::Meaning<isa::row>::execute(cpu, memory, isa::row::decode(word)); return true;
    KVRM_HOT_ROWS(KVRM_REGION_CASE)
#undef KVRM_REGION_CASE
    default: return false;
  }
}

interpreter::RegionEnd run_simulated(const SimulatedRegion& region, memory::ResidentLane& lane, u32 budget,
                                     u32 entry_point) {
  Cpu& cpu = lane.cpu;
  if (region.code != 0) {
    const u64 end = reinterpret_cast<u64 (*)(memory::ResidentLane*, u32, u32)>(region.code)(&lane, budget, entry_point);
    return {static_cast<Trap>(end & 0xffffffff), static_cast<u32>(end >> 32)};
  }
  translator::LaneLinks links{.pages = &lane.pages,
                              .readable = memory::kNoLanePage,
                              .writable = memory::kNoLanePage,
                              .page = 0,
                              .alone = lane.pages.alone,
                              .in_place = lane.pages.alone,
                              .shares_memory = 0,
                              .forgets = lane.pages.alone && region.words.size() % 2 == 0,  // all ways are tried
                              .gives_up = lane.pages.alone && region.words.size() % 4 == 0,
                              .window = 0,
                              .window_mask = 0};
  translator::LinkedLaneMemory memory{&links};
  if (cpu.pc != region.entry_pc) __builtin_trap();
  u32 left = budget;
  bool checks_budget = true;  // at the entry, and after backward branches
  for (;;) {
    const u64 pc = cpu.pc, index = (pc - region.entry_pc) / 4;
    if (index >= region.words.size() || pc % 4 != 0) return {Trap::kNone, left};
    if (checks_budget && left < region.words.size()) return {Trap::kNone, left};
    const isa::Row row = isa::decode(region.words[index]);
    Trap trap = Trap::kNone;
    if (!run_row(cpu, memory, region.words[index], row, trap)) return {Trap::kNone, left};
    if (trap != Trap::kNone) return {trap, left};
    --left;
    if (isa::facts(row).flow == isa::Flow::kNext) cpu.pc = pc + 4;
    checks_budget = cpu.pc <= pc;
  }
}

// A lane's resident memory, which later lanes find as the last one left it.
struct Resident {
  memory::ResidentLane lane;
  u8 alone[memory::kAloneL1Bytes];
  u64 spare[kernel::kWarpOrderWords + 600];  // not as much as some loops need
  U128 vectors[32];
};

// The lane's fast state.
struct OwnHome {
  Resident* resident;
  Cpu& cpu() const { return resident->lane.cpu; }
  memory::LaneTlb* pages() const { return &resident->lane.pages; }
  u64* spare() const { return resident->spare; }
  u32 spare_words() const { return sizeof(Resident::spare) / sizeof(u64); }
  interpreter::RegionEnd run_region(const interpreter::LaneRegion& given, u32 budget) const {
    const auto& region = *reinterpret_cast<const SimulatedRegion*>(given.code);
    const interpreter::RegionEnd end = run_simulated(region, resident->lane, budget, given.entry_point);
    const auto count = [](u64& to, u64 by) { (void)sync::add<sync::kRelaxed, sync::kSystem>(&to, by); };
    count(region.retired, budget - end.left);
    count(region.calls, 1);
    count(region.ends[static_cast<u32>(end.trap) % 64], 1);
    count(region.unbegun, end.trap == Trap::kNone && end.left == budget);
    return end;
  }
};

}  // namespace

void simulate_run(const kernel::Launch& launch, const Simulation& simulation) {
  const u32 size = 1u << launch.group_shift, groups = launch.lane_count >> launch.group_shift;
  std::vector<std::jthread> threads;
  for (u32 seat = 0; seat < simulation.seats; ++seat) {
    threads.emplace_back([&launch, &simulation, size, groups, seat] {
      std::vector<Resident> residents(size);
      // A lane that is alone in its warp may have the help of the other threads.
      const bool helped = launch.loop_count != 0;
      for (u32 group = seat; group < groups; group += simulation.seats) {
        run_warp(simulation.kind, helped ? 32 : size, simulation.seed + group, [&](SimulatedWarp& warp, u32 number) {
          const ThreadsOfWarp threads(warp, number);
          if (number >= size) return kernel::help_lane(threads, OwnHome{&residents[0]}, launch, seat);
          Resident& resident = residents[number];
          kernel::run_group(WarpOfLane(warp, number, ~0u >> (32 - size), simulation.clock), launch,
                            launch.lanes[group * size + number], OwnHome{&resident}, seat, resident.vectors);
          if (helped) kernel::release_helpers(threads, OwnHome{&resident}, launch, seat);
        });
      }
    });
  }
}

void simulate_prepare(const kernel::Launch& launch) {
  for (u32 i = 0; i < launch.lane_count; ++i) kernel::prepare_lane(launch, i);
}

void simulate_decode(const kernel::Launch& launch) {
  const u64 words = launch.image_bytes / 4;
  for (u64 i = 0; i < words; ++i) {
    kernel::decode_image_word(launch, i);
    kernel::copy_plain_word(launch, i);
  }
  for (u32 i = 0; i < launch.region_count; ++i) kernel::install_region(launch, i);
  for (u32 i = 0; i < launch.loop_count; ++i) kernel::install_loop(launch, i);
  for (u64 i = 0; i < words; ++i) kernel::count_block_lengths(launch, i);
}

}  // namespace kvrm::backend::test
