// How lanes poll the host and report progress while they run (slice_controller.h): seldom, and one for all. The clock
// is where the test puts it.
#include "../machine/words.h"
#include "compare.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using kernel::kPollInterval;
using kernel::kReportInterval;
using kernel::StopKind;

constexpr u64 kAt = 0x400000;
constexpr u32 kSlice = 50;

u32 add_words(cuda::StartSet& starts, const Words& words) {
  Machine machine;
  EXPECT_TRUE(machine.space->map_image(kAt, memory::kPageSize, 5, image_of(words), 0));
  machine.cpu.pc = kAt;
  return starts.add(machine.contents());
}
// Instructions that take `rounds` times two steps and one more, with a call to the host before them.
Words calls_and_counts(const std::vector<u32>& rounds) {
  Words words;
  for (u32 i = 0; i < rounds.size(); ++i) {
    words.insert(words.end(), {svc(i), movz(1, rounds[i]), subs_imm(1, 1, 1), b_ne(-1)});
  }
  words.push_back(hlt(0));
  return words;
}

// Three groups, one after the other. The first one polls and finds nothing; the second one runs within the interval and
// uses the cached word although the host has requested a pause; the third one polls again.
TEST(ControlCache, OneLanePollsForAll) {
  for (const u32 shift : {0u, 2u}) {
    SimulatedDevice device({.group_shift = shift, .groups = 3, .seats = 1});
    cuda::StartSet starts;
    const u32 start = add_words(starts, calls_and_counts({1000}));
    device.load(starts, std::vector<SimulatedDevice::Job>(device.lane_count(), {start, {}}));
    std::atomic<u64> clock = kPollInterval - 1;
    device.run({.slice = kSlice,
                .raw_calls = true,
                .orders = std::vector(device.lane_count(), kernel::Order::kStart),
                .serve = [&](const cuda::Call& call, Cpu&, memory::GuestMemory&) -> kernel::Outcome {
                  const u32 group = call.request.lane >> shift;
                  if (group == 0) clock = kPollInterval;
                  if (group == 1) device.ask(kernel::kCancel);
                  if (group == 2) clock = 2 * kPollInterval;
                  return {};
                },
                .clock = &clock});
    for (u32 i = 0; i < device.lane_count(); ++i) {
      EXPECT_EQ(device.end(i).stop.kind, i >> shift < 2 ? StopKind::kTrap : StopKind::kCancelled) << i;
    }
  }
}

// The host requests a pause; until the next poll no lane sees it.
TEST(ControlCache, NoLanePollsWithinTheInterval) {
  for (const u64 later : {kPollInterval - 1, kPollInterval}) {
    SimulatedDevice device({.group_shift = 1, .groups = 2});
    cuda::StartSet starts;
    const u32 start = add_words(starts, calls_and_counts({1000}));
    device.load(starts, std::vector<SimulatedDevice::Job>(4, {start, {}}));
    std::atomic<u64> clock = 0;
    const u32 launches = device.run({.slice = kSlice,
                                     .raw_calls = true,
                                     .orders = std::vector(4, kernel::Order::kStart),
                                     .serve = [&](const cuda::Call&, Cpu&, memory::GuestMemory&) -> kernel::Outcome {
                                       device.ask(kernel::kPause);
                                       clock = later;
                                       return {};
                                     },
                                     .clock = &clock});
    EXPECT_EQ(launches > 1, later == kPollInterval);
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(device.end(i).stop.trap, Trap::kHalt) << i;
      EXPECT_EQ(device.end(i).retired, 2002u) << i;
    }
  }
}

TEST(ControlCache, ProgressIsReportedOncePerInterval) {
  SimulatedDevice device({});
  cuda::StartSet starts;
  const u32 start = add_words(starts, calls_and_counts({200, 200, 200}));
  device.load(starts, {{start, {}}});
  std::atomic<u64> clock = 0;
  std::vector<u64> told;
  device.run({.slice = kSlice,
              .raw_calls = true,
              .orders = {kernel::Order::kStart},
              .serve = [&](const cuda::Call&, Cpu&, memory::GuestMemory&) -> kernel::Outcome {
                told.push_back(device.progress(0));
                clock = told.size() < 2 ? kReportInterval - 1 : kReportInterval;
                return {};
              },
              .clock = &clock});
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0], 0u);
  EXPECT_EQ(told[1], 0u);
  EXPECT_GE(told[2], 403u);  // it was at the second call when its time came
  EXPECT_LT(told[2], 403u + 2 * kSlice);
  EXPECT_EQ(device.progress(0), device.end(0).retired);
}

// In a very long slice lanes see a pause after some hundred instructions of the fallback; where they run none of those,
// at the end of the slice.
TEST(ControlCache, SlowInstructionsPollInsideTheSlice) {
  constexpr u32 kUqshl = 0x6e224c20, kLong = 50000, kBudget = 2 * kLong;
  for (const bool slow : {false, true}) {
    SimulatedDevice device({.group_shift = 2, .groups = 2});
    cuda::StartSet starts;
    const u32 start = add_words(starts, {slow ? kUqshl : movz(1, 1), b(-1)});
    device.load(starts, std::vector<SimulatedDevice::Job>(8, {start, {}}));
    u64 before = 0;
    device.run({.budget = kBudget,
                .slice = kLong,
                .orders = std::vector(8, kernel::Order::kStart),
                .pauses = 1,
                .paused = [&] { before = device.progress(0); }});
    // Every other one is a branch.
    EXPECT_EQ(before, slow ? 2 * kernel::kSlowPollInterval / kernel::kSlowStepCost - 1 : u64{kLong});
    for (u32 i = 0; i < 8; ++i) EXPECT_EQ(device.end(i).retired, kBudget) << i;
  }
}

// Cancelled between two launches: no other job begins, whether the lane's own ends before it looks, or ended with the
// launch before.
TEST(ControlCache, NoJobStartsAfterACancel) {
  constexpr u32 kLong = 10 * kSlice;  // what a job does once, at its end, does not matter
  const auto run = [](u32 jobs_before, bool cancel) {
    SimulatedDevice device({.group_shift = 1, .groups = 2});
    cuda::StartSet starts;
    const u32 start = add_words(starts, {movz(1, kLong * 3 / 4), subs_imm(1, 1, 1), b_ne(-1), hlt(0)});  // 1.5 slices
    device.load(starts, std::vector<SimulatedDevice::Job>(12, {start, {}}));
    const std::atomic<u64> clock = 0;
    const u32 launches = device.run({.slice = jobs_before * kLong,
                                     .pauses = 1,
                                     .paused =
                                         [&] {
                                           if (cancel) device.ask(kernel::kCancel);
                                         },
                                     .clock = &clock});
    EXPECT_EQ(launches, 2u);
    EXPECT_EQ(device.finished().size(), cancel ? jobs_before * device.lane_count() : 12u);
    for (const u32 job : device.finished()) EXPECT_EQ(device.end(job).stop.kind, StopKind::kTrap) << job;
  };
  for (const bool cancel : {false, true}) {
    run(1, cancel);
    run(2, cancel);
  }
}

}  // namespace
}  // namespace kvrm::backend::test
