// Bulk steps on simulated warps.
#include <gtest/gtest.h>

#include "accelerate/freestanding/overlap.h"
#include "warp_loop.h"

namespace kvrm::backend::test {
namespace {

void compare_loops(u64 first, u64 count) {
  std::string error;
  const auto all = accelerate::Loops::create(error);
  if (!all) GTEST_SKIP() << error;
  std::map<std::string, u64> kinds;
  u64 used = 0, proved = 0;
  for (u64 seed = first; seed < first + count; ++seed) {
    WarpLoopComparison comparison(seed);
    const WarpCompared compared = comparison.run(*all);
    std::string listing;
    for (const u32 word : comparison.words()) listing += std::to_string(word) + " ";
    ASSERT_EQ(compared.difference, "") << "seed " << seed << ": " << listing;
    ++kinds[compared.kind];
    proved += compared.proved;
    used += compared.iterations != 0;
  }
  EXPECT_GT(used, proved / 2);
  for (const char* kind : {"counted", "fill", "copy", "scan", "reduction", "map"}) EXPECT_GT(kinds[kind], 0u) << kind;
}

TEST(WarpLoops, ChangeNothingInGeneratedLoops) { compare_loops(1000, 100); }

// A loop that goes on for ever is cancelled between steps, and its state is that of so many instructions.
TEST(WarpLoops, CancelsAndPausesAreExact) {
  std::string error;
  const auto all = accelerate::Loops::create(error);
  if (!all) GTEST_SKIP() << error;
  const loops::Words words{loops::ldr_at(0, 5, 0, 0), loops::add(1, 4, 4, 5), loops::subs_imm(1, 11, 11, 1),
                           loops::b_cond(loops::kNe, -3)};
  const auto proven = all->prove({loops::kCodeAt, words});
  ASSERT_TRUE(proven);
  Machine here = loop_machine(image_of(words));
  here.cpu.pc = loops::kCodeAt;
  here.cpu.x[0] = loops::kDataAt;
  here.cpu.x[11] = u64{1} << 60;
  Machine there = loop_machine(image_of(words));
  there.cpu = here.cpu;
  cuda::StartSet starts;
  starts.add(there.contents());
  SimulatedDevice device({});
  device.load(starts, {{0, {}}});
  ASSERT_TRUE(device.install_loops(starts.shared_code().front(), {{loops::kCodeAt, &proven->program()}}));
  interpreter::Interpreter engine(*here.space);
  const std::atomic<bool> never = false;
  std::atomic<u32> asked = 0;
  SimulatedDevice::Run run;
  run.orders = {kernel::Order::kStart};
  run.pause = [&] { return ++asked % 8 == 0; };
  run.cancel = [&] { return asked > 40; };
  for (int i = 0; i < 2; ++i) {
    asked = 0;
    device.run(run);
    const kernel::JobEnd& end = device.end(0);
    EXPECT_EQ(end.stop.kind, kernel::StopKind::kCancelled);
    EXPECT_GT(device.loops().front().iterations, 0u);
    (void)engine.run(here.cpu, end.retired, never);
    EXPECT_EQ(text_of(end.registers), text_of(here.cpu));
    run.orders = {kernel::Order::kContinue};
  }
}

// Lanes one after the other in a warp: one that has the code elsewhere, where the loop is not proved, one that may
// write to it, and one as it should be.
TEST(WarpLoops, AreForTheCodeThatWasProved) {
  std::string error;
  const auto all = accelerate::Loops::create(error);
  if (!all) GTEST_SKIP() << error;
  constexpr u64 kElsewhere = 0x20000;
  const loops::Words words{loops::str_post(0, 4, 0, 1), loops::subs_imm(1, 11, 11, 1), loops::b_cond(loops::kNe, -2),
                           loops::kBrk};
  const auto image = image_of(words);
  const auto proven = all->prove({loops::kCodeAt, {words.begin(), words.end() - 1}});
  ASSERT_TRUE(proven);
  const auto build = [&](u32 lane) {
    Machine machine = loop_machine(image);
    constexpr u32 kCode = memory::kRead | memory::kExecute;
    if (lane == 0) EXPECT_TRUE(machine.space->map_image(kElsewhere, image->padded_size(), kCode, image, 0));
    if (lane == 1) EXPECT_TRUE(machine.space->protect(loops::kCodeAt, memory::kPageSize, kCode | memory::kWrite));
    machine.cpu.pc = lane == 0 ? kElsewhere : loops::kCodeAt;
    machine.cpu.x[0] = loops::kDataAt;
    machine.cpu.x[11] = 3000;
    return machine;
  };
  for (const u32 lane : {0u, 1u, 2u}) {
    Machine here = build(lane);
    SimulatedDevice device({.groups = 3, .seats = 1});
    cuda::StartSet starts;
    std::vector<SimulatedDevice::Job> jobs;
    for (u32 i = 0; i < 3; ++i) jobs.push_back({starts.add(build(i == lane ? lane : 0).contents()), {}});
    device.load(starts, jobs);
    const auto codes = starts.shared_code();
    const auto code = std::ranges::find(codes, loops::kCodeAt, &cuda::StartSet::SharedCode::start);
    ASSERT_NE(code, codes.end());
    ASSERT_TRUE(device.install_loops(*code, {{loops::kCodeAt, &proven->program()}}));
    SimulatedDevice::Run run;
    run.orders.assign(3, kernel::Order::kStart);
    device.run(run);
    interpreter::Interpreter engine(*here.space);
    const std::atomic<bool> never = false;
    const auto expected = engine.run(here.cpu, ~u64{0}, never);
    EXPECT_EQ(device.end(lane).retired, expected.retired);
    EXPECT_EQ(text_of(device.end(lane).registers), text_of(here.cpu));
    EXPECT_EQ(test::describe(LaneGuestMemory(device.lane(lane).space)), test::describe(*here.space));
    EXPECT_EQ(device.loops().front().iterations != 0, lane == 2) << lane;
  }
}

// Against every iteration.
TEST(WarpLoops, OverlapsAreFoundWithoutAsking) {
  using namespace accelerate;
  const auto overlap = [](i64 a, i64 size, i64 b, i64 other) { return a < b + other && b < a + size; };
  for (const i64 stride : {-17, -8, -4, -1, 0, 1, 3, 8, 16, 40}) {
    for (const u32 size : {1u, 4u, 8u}) {
      for (const u32 other : {1u, 2u, 8u}) {
        for (i64 apart = -150; apart <= 150; ++apart) {
          for (const u32 count : {1u, 2u, 9u}) {
            for (const u32 first : {0u, 1u}) {
              u32 expected = count;
              for (u32 i = first; i < count && expected == count; ++i)
                if (overlap(stride * i, size, apart, other)) expected = i;
              ASSERT_EQ(meets_after(apart, stride, size, other, first, count), expected);
            }
            bool met = false;
            for (u32 i = 0; i < count; ++i)
              for (u32 j = 0; j < count; ++j) met |= overlap(stride * i, size, apart + stride * j, other);
            if (never_meet(apart, stride, size, other, count)) ASSERT_FALSE(met);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace kvrm::backend::test
