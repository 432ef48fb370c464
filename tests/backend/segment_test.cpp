// Segments of regions (src/translator/passes/segments.h): wherever in one an access goes wrong, a lane does what the
// CPU's interpreter does.
#include <gtest/gtest.h>

#include "../machine/words.h"
#include "compare.h"
#include "translate_regions.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using memory::kPageSize;

constexpr u64 kProgram = 0x100000, kPrivateCode = 0x180000, kTag = u64{0x5a} << 56;
constexpr u64 kRounds = 60, kBefore = 24;  // of a loop; those before a pointer reaches the third page of its area
// x5 to x9 are pointers, each into three pages of its own.
constexpr u32 kFirst = 5, kPointers = 5;
constexpr u64 area_of(u32 pointer) { return 0x200000 + pointer * 0x10000; }

// What is wrong with one pointer of a lane.
enum class Wrong { kUnmapped, kReadOnly, kWriteOnly, kOdd, kAtHalf, kTagged, kNothing };
constexpr u32 kWrongs = 7;

u32 rights_of(Wrong wrong) {
  switch (wrong) {
    case Wrong::kUnmapped: return 0;
    case Wrong::kReadOnly: return memory::kRead;
    case Wrong::kWriteOnly: return memory::kWrite;
    default: return memory::kRead | memory::kWrite;
  }
}

u64 shift_of(Wrong wrong) {
  return wrong == Wrong::kOdd ? 1 : wrong == Wrong::kAtHalf ? 4 : wrong == Wrong::kTagged ? kTag : 0;
}

// A loop that x4 counts.
struct Loop {
  Words body;
  std::vector<u64> steps;  // of the pointers
  std::function<u64(u32 lane, u32 pointer, u64 offset)> data;

  std::vector<u32> words() const {
    Words all = body;
    all.insert(all.end(), {subs_imm(4, 4, 1), b_ne(-1 - static_cast<int>(body.size()))});
    all.push_back(hlt(0));
    return all;
  }
};

Machine machine_of(const Loop& loop, const std::shared_ptr<const memory::Image>& image, u32 lane) {
  Machine machine;
  memory::AddressSpace& space = *machine.space;
  EXPECT_TRUE(space.map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
  for (u32 i = 0; i < kPointers; ++i) {
    const u64 area = area_of(i);
    EXPECT_TRUE(space.map(area, 3 * kPageSize, memory::kRead | memory::kWrite));
    for (u64 at = 0; at < 3 * kPageSize; at += 8) {
      const u64 value = loop.data(lane, i, at);
      EXPECT_TRUE(space.poke(area + at, &value, sizeof value));
    }
    const Wrong wrong = lane % kPointers == i ? static_cast<Wrong>(lane / kPointers % kWrongs) : Wrong::kNothing;
    EXPECT_TRUE(space.protect(area + 2 * kPageSize, kPageSize, rights_of(wrong)));
    machine.cpu.x[kFirst + i] = area + 2 * kPageSize - kBefore * loop.steps[i] + shift_of(wrong);
  }
  machine.cpu.x[0] = lane;
  machine.cpu.x[4] = kRounds;
  machine.cpu.pc = kProgram;
  return machine;
}

std::vector<SimulatedRegion> loop_region(Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind kind) {
  constexpr u32 kNone = 0;  // regions remember pages
  return translate(code, kind, {0}, [] { return translator::PlanLimits{}; }, false, kNone);
}

// With launches and time slices that end everywhere in an iteration, and without.
void check(const Loop& loop, u64 seed) {
  const auto image = image_of(loop.words());
  const Build build = [&](u32 lane) { return machine_of(loop, image, lane); };
  const u32 round = static_cast<u32>(loop.body.size()) + 2;
  SimulatedDevice::Plan plan{
      .groups = kPointers * kWrongs, .frames = 32 * kPointers * kWrongs, .tables = 8 * kPointers * kWrongs};
  for (const u64 budget : {u64{round}, u64{8} * round, u64{12} * round, u64{100000}}) {
    for (const u32 slice : {8192u, round - 1, round, 3 * round + 1, 300u}) {
      SCOPED_TRACE("budget " + std::to_string(budget) + ", slice " + std::to_string(slice));
      plan.most_window_shift = plan.most_window_shift == 0 ? 22 : 0;
      SimulatedDevice::Run run;
      run.slice = slice;
      retired_in_regions = 0;
      compare(plan, run, build, budget, seed + budget + slice, loop_region);
      if (slice >= 300 && budget > 12 * round) EXPECT_GT(retired_in_regions, 1000u);
      if (testing::Test::HasFailure()) return;
    }
  }
}

u64 noise(u32 lane, u32 pointer, u64 offset) { return (lane + offset * 8 + pointer + 1) * 0x9e3779b97f4a7c15; }

// Four loads, a store, a load of what it has stored, and a store to what was loaded first.
TEST(KernelSegments, FaultsAtEachAccessArePrecise) {
  const Loop loop{{0xf84084aa,  // ldr x10, [x5], #8
                   0xb84044cb,  // ldr w11, [x6], #4
                   0x384014ec,  // ldrb w12, [x7], #1
                   0xa8c1390d,  // ldp x13, x14, [x8], #16
                   0x8b0a0000,  // add x0, x0, x10
                   0xca0b0021,  // eor x1, x1, x11
                   0x8b0c0042,  // add x2, x2, x12
                   0x8b0e0000,  // add x0, x0, x14
                   0xf8008520,  // str x0, [x9], #8
                   0xf85f812f,  // ldur x15, [x9, #-8]
                   0x8b0f0021,  // add x1, x1, x15
                   0xf81f80a1},  // stur x1, [x5, #-8]
                  {8, 4, 1, 16, 8},
                  noise};
  check(loop, 1);
}

// Nothing is stored: one branch asks for the budget and tests the loads, in the loop and in the one inside it.
TEST(KernelSegments, LoopsOfLoadsStopWithTheBudget) {
  const Loop loop{{movz(12, 20),
                   0x384014ea,          // ldrb w10, [x7], #1
                   0x8b0a0000,          // add x0, x0, x10
                   subs_imm(12, 12, 1), b_ne(-3),
                   0xf84084ab,          // ldr x11, [x5], #8
                   0xca0b0021,          // eor x1, x1, x11
                   0xb84044cb,          // ldr w11, [x6], #4
                   0x8b0b0021},         // add x1, x1, x11
                  {8, 4, 20, 8, 8},
                  noise};
  check(loop, 4);
}

// Two paths with a load each, and a store on one of two.
TEST(KernelSegments, FaultsBehindBranchesArePrecise) {
  const Loop loop{{0xf84084aa,  // ldr x10, [x5], #8
                   0x3600008a,  // tbz w10, #0, 4 words on
                   0xf84084cb,  // ldr x11, [x6], #8
                   0x9100056b,  // add x11, x11, #1
                   0x14000002,  // b 2 words on
                   0xf84084eb,  // ldr x11, [x7], #8
                   0xf840850c,  // ldr x12, [x8], #8
                   0x8b0b0000,  // add x0, x0, x11
                   0x3618004c,  // tbz w12, #3, 2 words on
                   0xf800852b},  // str x11, [x9], #8
                  {8, 8, 8, 8, 8},
                  noise};
  check(loop, 2);
}

// A load's address is what the load before it read: mostly a good one. No lane may see the address that a failing load
// makes up.
TEST(KernelSegments, FaultsAlongPointersArePrecise) {
  const auto data = [](u32 lane, u32 pointer, u64 offset) -> u64 {
    const u64 random = noise(lane, pointer, offset) >> 40;
    if (pointer == 0 && random % 64 == 1) return 0;
    if (pointer == 1 && random % 128 == 2) return random << 40;
    return area_of((pointer + 1) % kPointers) + random % (2 * kPageSize / 8) * 8;
  };
  const Loop loop{{0xf84084aa,  // ldr x10, [x5], #8
                   0xf940014b,  // ldr x11, [x10]
                   0xf940056c,  // ldr x12, [x11, #8]
                   0xb400004c,  // cbz x12, 2 words on
                   0x8b0c0000,  // add x0, x0, x12
                   0x3940018d,  // ldrb w13, [x12]
                   0xf800852d},  // str x13, [x9], #8
                  {8, 8, 8, 8, 8},
                  data};
  check(loop, 3);
}

// The store goes to code, which has run and has to be decoded anew.
TEST(KernelSegments, StoresToPrivateCodeTakeEffect) {
  const Loop loop{{kNop, kNop,
                   0xb84044aa,  // ldr w10, [x5], #4
                   0xf84084cb,  // ldr x11, [x6], #8
                   0x8b0b0021,  // add x1, x1, x11
                   0xb900006a,  // str w10, [x3]
                   blr(3)},
                  {4, 8, 8, 8, 8},
                  [](u32 lane, u32 pointer, u64 offset) -> u64 {
                    const u64 two = add_imm(0, 0, (lane + static_cast<u32>(offset)) % 4096) | u64{add_imm(0, 0, 7)}
                                                                                                  << 32;
                    return pointer == 0 ? two : noise(lane, pointer, offset);
                  }};
  const auto image = image_of(loop.words());
  const Build build = [&](u32 lane) {
    Machine machine = machine_of(loop, image, lane);
    const Words code{add_imm(0, 0, 1), kRet};
    EXPECT_TRUE(machine.space->map(kPrivateCode, kPageSize, 7));
    EXPECT_TRUE(machine.space->poke(kPrivateCode, code.data(), code.size() * 4));
    machine.cpu.x[3] = kPrivateCode;
    return machine;
  };
  for (const u64 budget : {u64{50}, u64{100000}}) {
    retired_in_regions = 0;
    compare({.groups = 10, .frames = 320, .tables = 80, .most_window_shift = 22}, {}, build, budget, budget,
            loop_region);
    EXPECT_GT(retired_in_regions, 100u);
  }
}

}  // namespace
}  // namespace kvrm::backend::test
