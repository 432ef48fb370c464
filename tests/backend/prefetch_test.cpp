// Lanes that prefetch do what they do without, whatever they expect.
#include <gtest/gtest.h>

#include "../machine/words.h"
#include "compare.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using memory::kPageSize;

constexpr u64 kProgram = 0x100000, kDataAt = 0x200000;
constexpr u32 kPages = 560;  // more than the L1 TLB has
constexpr u32 kStep = 4032;

// Walks over the pages again and again: adds up, and changes every word it has added.
Words walk() {
  return {add_imm(1, 5, 0),  // x1 = x5
          add_imm(2, 6, 0),  // x2 = x6
          ldr_x(3, 1),      add_imm(3, 3, 1), str_w(3, 1), add_imm(1, 1, kStep), subs_imm(2, 2, 1), b_ne(-5), b(-8)};
}

Build walkers(u32 pages, u32 rights_of_last) {
  const auto words = walk();
  const auto image = image_of({words.begin(), words.end()});
  return [=](u32 lane) {
    Machine machine;
    memory::AddressSpace& space = *machine.space;
    EXPECT_TRUE(space.map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
    EXPECT_TRUE(space.map(kDataAt, pages * kPageSize, memory::kRead | memory::kWrite));
    for (u32 i = 0; i < pages; ++i) {
      const u64 value = lane * 1000 + i;
      EXPECT_TRUE(space.poke(kDataAt + i * kPageSize, &value, sizeof value));
    }
    EXPECT_TRUE(space.protect(kDataAt + (pages - 1) * kPageSize, kPageSize, rights_of_last));
    machine.cpu.x[5] = kDataAt;
    machine.cpu.x[6] = u64{pages} * kPageSize / kStep;
    machine.cpu.pc = kProgram;
    return machine;
  };
}

u64 run(const SimulatedDevice::Plan& plan, const Build& build) {
  prefetched = 0;
  for (const u32 slice : {8192u, 77u}) {
    SimulatedDevice::Run run;
    run.slice = slice;
    compare(plan, run, build, kMost, slice);
  }
  return prefetched;
}

SimulatedDevice::Plan plan_with(u32 window_shift) {
  return {.groups = 2, .frames = 2 * kPages + 64, .tables = 64, .most_window_shift = window_shift};
}

TEST(LanePrefetching, CountersExpectAWalkAndChangeNothing) {
  for (const u32 window_shift : {0u, 17u, 26u}) {
    SCOPED_TRACE(window_shift);
    SimulatedDevice::Plan plan = plan_with(window_shift);
    plan.prefetch = true;
    EXPECT_GT(run(plan, walkers(kPages, memory::kRead | memory::kWrite)), 1000u);
  }
}

TEST(LanePrefetching, WithoutTheOptionNothingIsExpected) {
  EXPECT_EQ(run(plan_with(17), walkers(kPages, memory::kRead | memory::kWrite)), 0u);
}

TEST(LanePrefetching, GivenChoicesAreUsed) {
  SimulatedDevice::Plan plan = plan_with(0);
  plan.prefetch = true;
  plan.choices = {{kProgram + 8, {prefetch::Policy::kStride, 3}}};
  EXPECT_GT(run(plan, walkers(kPages, memory::kRead | memory::kWrite)), 1000u);
  plan.choices = {{kProgram + 0x1000, {prefetch::Policy::kStride, 3}}};
  EXPECT_EQ(run(plan, walkers(kPages, memory::kRead | memory::kWrite)), 0u);
}

TEST(LanePrefetching, WhereNothingMayBeReadNothingFaults) {
  SimulatedDevice::Plan plan = plan_with(0);
  plan.prefetch = true;
  for (const u32 level : {0u, 3u, 7u}) {
    for (const auto policy : {prefetch::Policy::kNextLine, prefetch::Policy::kStride, prefetch::Policy::kTemporal}) {
      plan.choices = {{kProgram + 8, {policy, level}}};
      (void)run(plan, walkers(kPages, 0));
      (void)run(plan, walkers(8, memory::kRead));
    }
  }
}

}  // namespace
}  // namespace kvrm::backend::test
