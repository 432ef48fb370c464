// The ways to run a machine.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "kvrm/machine.h"
#include "words.h"

namespace kvrm {
namespace {

using namespace test;
using namespace std::chrono_literals;

// Raw lanes that all hold the same words, with x0 counting the lanes.
Machine lanes_with(const Words& words, unsigned count) {
  Options options;
  options.lanes = count;
  options.threads = 3;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  for (unsigned lane = 0; lane < count; ++lane) {
    EXPECT_TRUE(machine->lane(lane).load(bytes_of(words), kCode).ok());
    machine->lane(lane).set_pc(kCode);
    machine->lane(lane).set_x(0, lane);
  }
  return std::move(*machine);
}

const Words kEndless = {add_imm(1, 1, 1), b(-1)};

TEST(Modes, LanesHaveTheirOwnRegistersAndMemory) {
  // Each counts its x0 + 1 down and up in x1, then stores it.
  const Words words = {add_imm(0, 0, 1), add_imm(1, 1, 1), subs_imm(0, 0, 1), b_ne(-2), str_w(1, 2), hlt(0)};
  Machine machine = lanes_with(words, 9);
  for (unsigned lane = 0; lane < 9; ++lane) {
    ASSERT_TRUE(machine.lane(lane).map(0x20000, 4096, kProtectRead | kProtectWrite).ok());
    machine.lane(lane).set_x(2, 0x20000);
  }
  for (const Stop& stop : machine.run_all()) EXPECT_EQ(stop.reason, StopReason::kHalt);
  for (unsigned lane = 0; lane < 9; ++lane) {
    std::uint32_t stored = 0;
    ASSERT_TRUE(machine.lane(lane).read(0x20000, std::as_writable_bytes(std::span(&stored, 1))).ok());
    EXPECT_EQ(stored, lane + 1);
    EXPECT_EQ(machine.lane(lane).x(1), lane + 1);
  }
}

TEST(Modes, ContinuousRunsInBatches) {
  Machine machine = lanes_with(kEndless, 3);
  std::vector<Signal> signals;
  const Batch last = machine.run_continuous(1000, 4, std::chrono::nanoseconds::max(), [&](const Batch& batch) {
    signals.push_back(batch.signal);
    EXPECT_EQ(batch.number, signals.size());
    EXPECT_EQ(batch.instructions, 3000 * batch.number);
    EXPECT_EQ(batch.lanes_alive, 3u);
    return true;
  });
  EXPECT_EQ(signals, (std::vector{Signal::kRunning, Signal::kRunning, Signal::kRunning, Signal::kCheckpoint}));
  EXPECT_EQ(last.signal, Signal::kCheckpoint);
  // It continues where it stopped.
  EXPECT_EQ(machine.run_continuous(1000, 1).signal, Signal::kCheckpoint);
  EXPECT_EQ(machine.lane(2).x(1), 2500u);
}

TEST(Modes, ContinuousEndsByCallbackAndByTime) {
  Machine machine = lanes_with(kEndless, 1);
  const auto once = [](const Batch&) { return false; };
  EXPECT_EQ(machine.run_continuous(10, Machine::kNoLimit, std::chrono::nanoseconds::max(), once).number, 1u);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(machine.run_continuous(10'000, Machine::kNoLimit, 20ms).signal, Signal::kCheckpoint);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST(Modes, ContinuousReportsWhatStopsLanes) {
  EXPECT_EQ(lanes_with({hlt(0)}, 2).run_continuous(100).signal, Signal::kHalt);
  EXPECT_EQ(lanes_with({svc(3)}, 2).run_continuous(100).signal, Signal::kSystemCall);
  EXPECT_EQ(lanes_with({brk(4)}, 2).run_continuous(100).signal, Signal::kBreakpoint);
  EXPECT_EQ(lanes_with({0}, 2).run_continuous(100).signal, Signal::kFault);

  // Lane 1 comes to a breakpoint while the others have a long way to go.
  Machine machine = lanes_with({subs_imm(31, 0, 1), b_ne(2), brk(9), b(0)}, 3);
  const Batch batch = machine.run_continuous(100);
  EXPECT_EQ(batch.signal, Signal::kBreakpoint);
  EXPECT_EQ(batch.lane, 1u);
  EXPECT_EQ(batch.stop.address, 9u);
  EXPECT_EQ(batch.lanes_alive, 2u);
}

TEST(Modes, MegaIsOneCallOfTheDevice) {
  Machine machine = lanes_with(kEndless, 2);
  const Batch batch = machine.run_mega(3'000'000);
  EXPECT_EQ(batch.signal, Signal::kCheckpoint);
  EXPECT_EQ(batch.instructions, 6'000'000u);
  EXPECT_EQ(machine.statistics().launches, 1u);
}

TEST(Modes, HooksSeeOneLaneAtATime) {
  Machine machine = lanes_with({svc(1), svc(2), hlt(0)}, 20);
  std::atomic<int> inside = 0;
  std::multiset<unsigned> seen;
  machine.on_system_call([&](Lane lane, std::uint32_t immediate) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    EXPECT_EQ(lane.x(0), lane.index());
    lane.set_x(immediate, 100 + lane.index());
    seen.insert(lane.index());
    inside.fetch_sub(1);
    return true;
  });
  for (const Stop& stop : machine.run_all()) EXPECT_EQ(stop.reason, StopReason::kHalt);
  for (unsigned lane = 0; lane < 20; ++lane) {
    EXPECT_EQ(seen.count(lane), 2u);
    EXPECT_EQ(machine.lane(lane).x(1), 100 + lane);
    EXPECT_EQ(machine.lane(lane).x(2), 100 + lane);
  }
}

TEST(Modes, StartReturnsAtOnceAndWaitGivesTheStops) {
  Machine machine = lanes_with(kEndless, 2);
  EXPECT_TRUE(machine.wait().empty());
  machine.start(2'000'000);
  const auto stops = machine.wait();
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_EQ(stops[1].reason, StopReason::kBudget);
  EXPECT_FALSE(machine.is_running());
  EXPECT_EQ(machine.poll().instructions, 4'000'000u);
  EXPECT_EQ(machine.statistics().instructions, 4'000'000u);
}

TEST(Modes, PollShowsTheRunningMachine) {
  Machine machine = lanes_with(kEndless, 2);
  machine.start();
  std::uint64_t before = 0;
  for (int i = 0; i < 5; ++i) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (machine.poll().instructions <= before && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
    const Progress progress = machine.poll();
    EXPECT_TRUE(progress.running);
    EXPECT_GT(progress.instructions, before);
    EXPECT_EQ(progress.lanes_alive, 2u);
    before = progress.instructions;
  }
  machine.cancel();
  for (const Stop& stop : machine.wait()) EXPECT_EQ(stop.reason, StopReason::kCancelled);
  EXPECT_EQ(machine.poll().lanes_alive, 0u);
}

TEST(Modes, ManyStartsAndCancels) {
  Machine machine = lanes_with(kEndless, 4);
  for (int i = 0; i < 100; ++i) {
    machine.start();
    machine.cancel();
    for (const Stop& stop : machine.wait()) EXPECT_EQ(stop.reason, StopReason::kCancelled);
  }
  // A cancel that came too late belongs to the run it came too late for.
  machine.start(1);
  while (machine.is_running()) std::this_thread::yield();
  machine.cancel();
  EXPECT_EQ(machine.wait().front().reason, StopReason::kBudget);
  EXPECT_EQ(machine.run(1).reason, StopReason::kBudget);
}

TEST(Modes, AMachineMayEndWhileItRuns) {
  Machine machine = lanes_with(kEndless, 3);
  machine.start();
}

}  // namespace
}  // namespace kvrm
