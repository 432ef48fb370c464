// The service and remote memory against simulated lanes on threads.
#include "backend/cuda/service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "backend/cuda/remote_memory.h"
#include "operations.h"
#include "simulated_lanes.h"

namespace kvrm::backend::test {
namespace {

using cuda::Call;
using cuda::Service;
using kernel::Outcome;
using kernel::OutcomeKind;
using memory::GuestMemory;

const LaneThreads::Hook kNothing = [](SimulatedLane&) {};

void wait_for(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Service, RemoteMemoryMatchesLocalMemory) {
  constexpr u32 kThreads = 2, kEach = 6, kLanes = kThreads * kEach, kCalls = 12;
  SimulatedMailbox box(5);
  // Each lane's calls are made on its memory through the mailbox, and directly on a mirror.
  std::vector<std::unique_ptr<memory::AddressSpace>> mirrors;
  std::vector<Random> here, there;
  for (u32 i = 0; i < kLanes; ++i) {
    mirrors.push_back(std::make_unique<memory::AddressSpace>(u64{8} << 20));
    here.emplace_back(i);
    there.emplace_back(i);
  }
  Service service(box.view(), [&](const Call& call, Cpu&, GuestMemory& memory) -> Outcome {
    const u32 lane = call.request.lane;
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(random_operation(there[lane], memory, 20000), random_operation(here[lane], *mirrors[lane], 20000));
    }
    return {};
  });
  LaneThreads lanes(box.view(), kThreads, kEach, kCalls, kNothing, kNothing);
  lanes.join();
  service.stop();
  EXPECT_EQ(box.free_slots(), 5u);
  EXPECT_EQ(service.statistics().system_calls, kLanes * kCalls);
  EXPECT_GT(service.statistics().commands, u64{kLanes * kCalls});
  EXPECT_EQ(service.error(), "");
  for (u32 i = 0; i < kLanes; ++i) EXPECT_EQ(describe(lanes[i].space), describe(*mirrors[i])) << i;
}

TEST(Service, WritesAreAllOrNothingOverManyPages) {
  SimulatedMailbox box(1);
  constexpr u64 kSize = 6 * memory::kPageSize;
  Service service(box.view(), [&](const Call&, Cpu&, GuestMemory& memory) -> Outcome {
    EXPECT_TRUE(memory.map(kBase, kSize, memory::kRead | memory::kWrite));
    EXPECT_TRUE(memory.protect(kBase + 5 * memory::kPageSize, memory::kPageSize, memory::kRead));
    std::vector<u8> ones(kSize, 1), seen(kSize, 7);
    EXPECT_FALSE(memory.write(kBase, ones.data(), kSize));
    EXPECT_TRUE(memory.read(kBase, seen.data(), kSize));
    EXPECT_EQ(seen, std::vector<u8>(kSize, 0));
    EXPECT_TRUE(memory.poke(kBase, ones.data(), kSize));
    EXPECT_FALSE(memory.poke(kBase + 1, ones.data(), kSize));
    EXPECT_TRUE(memory.peek(kBase, seen.data(), kSize));
    EXPECT_EQ(seen, ones);
    EXPECT_FALSE(memory.map_image(kBase, kSize, memory::kRead, nullptr, 0));
    EXPECT_TRUE(memory.read(u64{1} << 60, seen.data(), 0));
    return {};
  });
  LaneThreads lanes(box.view(), 1, 1, 1, kNothing, kNothing);
  lanes.join();
}

TEST(Service, LanesGetTheStateTheHandlerLeaves) {
  SimulatedMailbox box(3);
  Service service(box.view(), [](const Call& call, Cpu& cpu, GuestMemory&) -> Outcome {
    EXPECT_EQ(call.request.job, call.request.lane);
    ++cpu.x[0];
    if (cpu.x[0] % 2 == 0) cpu.q[31].hi += 3;
    if (cpu.x[0] % 3 == 0) call.process[kProcessWords - 1] += call.request.lane;
    cpu.clock_ns += 10;
    return {.deadline_ns = cpu.clock_ns + 1};
  });
  LaneThreads lanes(box.view(), 2, 5, 60, kNothing,
                    [](SimulatedLane& lane) { EXPECT_EQ(lane.outcome.deadline_ns, lane.cpu.clock_ns + 1); });
  lanes.join();
  for (u32 i = 0; i < lanes.size(); ++i) {
    EXPECT_EQ(lanes[i].cpu.x[0], 60u);
    EXPECT_EQ(lanes[i].cpu.q[31].hi, 90u);
    EXPECT_EQ(lanes[i].process[kProcessWords - 1], 20u * i);
    EXPECT_EQ(lanes[i].cpu.clock_ns, 600u);
  }
}

TEST(Service, SlowCallDelaysNoOther) {
  SimulatedMailbox box(4);
  std::atomic<u32> quick{0};
  // Lane 0's first call returns only when all calls of the others are done.
  Service service(box.view(), [&](const Call& call, Cpu&, GuestMemory&) -> Outcome {
    if (call.request.lane != 0) {
      quick.fetch_add(1);
    } else {
      wait_for([&] { return quick.load() == 31 * 20; });
    }
    return {};
  });
  LaneThreads lanes(box.view(), 2, 16, 20, kNothing, kNothing);
  lanes.join();
  EXPECT_EQ(quick.load(), 31u * 20u);
}

TEST(Service, AsManyCallsWaitAsThereAreSlots) {
  constexpr u32 kSlots = 9;
  SimulatedMailbox box(kSlots);
  std::atomic<u32> waiting{0};
  Service service(box.view(), [&](const Call&, Cpu&, GuestMemory&) -> Outcome {
    waiting.fetch_add(1);
    wait_for([&] { return waiting.load() >= kSlots; });
    return {};
  });
  LaneThreads lanes(box.view(), 1, kSlots, 1, kNothing, kNothing);
  lanes.join();
  service.stop();
  EXPECT_GE(service.statistics().threads, u64{kSlots});
  EXPECT_LE(service.statistics().threads, u64{kSlots} + 1);
}

TEST(Service, CancelEndsCurrentAndLaterCalls) {
  SimulatedMailbox box(4);
  std::atomic<u32> waiting{0}, handled{0};
  Service* service_of_handler = nullptr;
  std::atomic<bool> ready{false};
  Service service(box.view(), [&](const Call&, Cpu& cpu, GuestMemory&) -> Outcome {
    wait_for([&] { return ready.load(); });
    handled.fetch_add(1);
    waiting.fetch_add(1);
    wait_for([&] { return service_of_handler->cancelled().load(); });
    cpu.pc -= 4;
    return {.kind = OutcomeKind::kCancelled};
  });
  service_of_handler = &service;
  ready.store(true);
  LaneThreads lanes(box.view(), 2, 10, 5, [](SimulatedLane& lane) { lane.cpu.pc = 0x1004; }, kNothing);
  wait_for([&] { return waiting.load() == 4; });
  service.cancel();
  lanes.join();
  service.stop();
  EXPECT_LE(handled.load(), 5u);  // a call may slip in between the check of the flag and the handler
  for (u32 i = 0; i < lanes.size(); ++i) {
    EXPECT_EQ(lanes[i].outcome.kind, OutcomeKind::kCancelled);
    EXPECT_EQ(lanes[i].cpu.pc, 0x1000u);
    EXPECT_EQ(lanes[i].calls, 1u);
  }
  EXPECT_EQ(box.free_slots(), 4u);
}

TEST(Service, FaultsAndTicksAreServedAfterACancel) {
  SimulatedMailbox box(1);
  Service service(box.view(), [](const Call& call, Cpu&, GuestMemory&) -> Outcome {
    return {.kind = OutcomeKind::kSignal, .code = i32(call.request.trap)};
  });
  service.cancel();
  SimulatedLane lane(0);
  ASSERT_TRUE(lane.post(box.view(), kernel::RequestKind::kFault, Trap::kUnmapped));
  wait_for([&] { return lane.step(box.view()); });
  EXPECT_EQ(lane.outcome.kind, OutcomeKind::kSignal);
  EXPECT_EQ(lane.outcome.code, i32(Trap::kUnmapped));
  service.resume();
  ASSERT_TRUE(lane.post(box.view(), kernel::RequestKind::kTick));
  wait_for([&] { return lane.step(box.view()); });
  EXPECT_EQ(service.statistics().faults, 1u);
  EXPECT_EQ(service.statistics().ticks, 1u);
}

TEST(Service, AbortFreesCallsThatWaitForALane) {
  SimulatedMailbox box(3);
  std::atomic<u32> asking{0}, gave_up{0};
  Service service(box.view(), [&](const Call&, Cpu&, GuestMemory& memory) -> Outcome {
    asking.fetch_add(1);
    try {
      for (;;) memory.is_free(kBase, memory::kPageSize);
    } catch (const cuda::LaneGone&) {
      gave_up.fetch_add(1);
      throw;
    }
  });
  LaneThreads lanes(box.view(), 1, 3, 1, kNothing, kNothing);
  wait_for([&] { return asking.load() == 3; });
  lanes.stop();  // the device is lost
  lanes.join();
  service.abort();
  EXPECT_EQ(gave_up.load(), 3u);
  EXPECT_EQ(service.error(), "");
  for (u32 i = 0; i < 3; ++i) EXPECT_NE(lanes[i].slot, kernel::kNoSlot);  // no reply came
}

TEST(Service, ARequestWaitsUntilItIsReady) {
  SimulatedMailbox box(2);
  std::atomic<bool> ready{false};
  std::atomic<u32> asked{0}, served{0};
  Service service(
      box.view(),
      [&](const Call&, Cpu&, GuestMemory&) -> Outcome {
        EXPECT_TRUE(ready.load());
        served.fetch_add(1);
        return {};
      },
      [&](const kernel::Request& request) {
        asked.fetch_add(1);
        return ready.load() && request.lane < 2;
      });
  LaneThreads lanes(box.view(), 1, 2, 1, kNothing, kNothing);
  wait_for([&] { return asked.load() > 10; });
  EXPECT_EQ(served.load(), 0u);
  ready.store(true);
  lanes.join();
  EXPECT_EQ(served.load(), 2u);
  SimulatedLane never(2);
  ASSERT_TRUE(never.post(box.view(), kernel::RequestKind::kSystemCall));
  wait_for([&] { return service.statistics().system_calls == 3; });
  service.abort();
  EXPECT_EQ(served.load(), 2u);
}

TEST(Service, AHandlerThatThrowsFailsItsLaneOnly) {
  SimulatedMailbox box(2);
  Service service(box.view(), [](const Call& call, Cpu&, GuestMemory&) -> Outcome {
    if (call.request.lane == 3) throw std::runtime_error("no more files");
    return {};
  });
  LaneThreads lanes(box.view(), 1, 6, 10, kNothing, kNothing);
  lanes.join();
  EXPECT_EQ(service.error(), "no more files");
  for (u32 i = 0; i < 6; ++i) {
    EXPECT_EQ(lanes[i].outcome.kind, i == 3 ? OutcomeKind::kFailed : OutcomeKind::kContinue);
    EXPECT_EQ(lanes[i].calls, i == 3 ? 1u : 10u);
  }
}

TEST(Service, StartsAndStopsCleanly) {
  SimulatedMailbox box(8);
  for (int i = 0; i < 50; ++i) {
    Service service(box.view(), [](const Call&, Cpu&, GuestMemory&) -> Outcome { return {}; });
    if (i % 3 == 0) service.stop();
    if (i % 3 == 1) service.abort();
  }
  EXPECT_EQ(box.free_slots(), 8u);
}

}  // namespace
}  // namespace kvrm::backend::test
