// Jobs streamed through lanes by the kernel's code: refill, ends, output, calls to the host, cancel.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../machine/words.h"
#include "backend/cuda/job_clock.h"
#include "lane_guest_memory.h"
#include "operations.h"
#include "scratch_program.h"
#include "simulated_device.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using cuda::Call;
using kernel::Outcome;
using kernel::OutcomeKind;
using kernel::StopKind;
using memory::GuestMemory;
using memory::kPageSize;

constexpr u64 kScratchBytes = 8 * kPageSize;
constexpr u64 kGetcwd = 17;  // only the host can answer it

// Reads stdin, counts as long as each byte says, adds the count to a word of a page that depends on it and that must
// still be zero, writes stdin to stdout, asks the host for the folder, and exits with the count and the answer.
const Words kEcho = {
    0xd2a00a13,  //     mov x19, #0x500000
    0xd2800000,  //     mov x0, #0
    0xaa1303e1,  //     mov x1, x19
    0xd2880002,  //     mov x2, #0x4000
    0xd28007e8,  //     mov x8, #63 (read)
    0xd4000001,  //     svc #0
    0xaa0003f4,  //     mov x20, x0
    0xd2800015,  //     mov x21, #0
    0xaa1403e3,  //     mov x3, x20
    0xb4000103,  // 1:  cbz x3, 3f
    0xd1000463,  //     sub x3, x3, #1
    0x38636a64,  //     ldrb w4, [x19, x3]
    0x92400885,  //     and x5, x4, #7
    0x910006b5,  // 2:  add x21, x21, #1
    0xf10004a5,  //     subs x5, x5, #1
    0x54ffffc5,  //     b.pl 2b
    0x17fffff9,  //     b 1b
    0x924006a6,  // 3:  and x6, x21, #3
    0xd374ccc6,  //     lsl x6, x6, #12
    0x8b060267,  //     add x7, x19, x6
    0xf947fce5,  //     ldr x5, [x7, #4088]
    0x8b0502b5,  //     add x21, x21, x5
    0xf907fcf5,  //     str x21, [x7, #4088]
    0xd2800020,  //     mov x0, #1
    0xaa1303e1,  //     mov x1, x19
    0xaa1403e2,  //     mov x2, x20
    0xd2800808,  //     mov x8, #64 (write)
    0xd4000001,  //     svc #0
    0x91401260,  //     add x0, x19, #4, lsl #12
    0xd2800801,  //     mov x1, #64
    0xd2800228,  //     mov x8, #17 (getcwd)
    0xd4000001,  //     svc #0
    0x8b0002a0,  //     add x0, x21, x0
    0xd2800ba8,  //     mov x8, #93 (exit)
    0xd4000001,  //     svc #0
};
// Writes 3,000 bytes again and again.
const Words kChatter = {
    0xd2a00a01,     // 0:  mov x1, #0x500000
    movz(0, 1),     //
    movz(2, 3000),  //
    movz(8, 64),    //     write
    svc(0),         //
    b(-5),          //
};
// Asks the host for ever.
const Words kAsking = {0xd2a00a00, movz(1, 64), movz(8, u32(kGetcwd)), svc(0), b(-4)};
const Words kEndless = {add_imm(0, 0, 1), b(-1)};
// Writes to one page after the other until there is none left.
const Words kGreedy = {
    0xd2a00a01,  //     mov x1, #0x500000
    0xf9000020,  // 0:  str x0, [x1]
    0x91400421,  //     add x1, x1, #1, lsl #12
    b(-2),       //
};

cuda::StartSet::Contents program(const Words& words, memory::AddressSpace& space) {
  return scratch_program(words, space, kScratchBytes);
}
u32 add_program(cuda::StartSet& starts, const Words& words) {
  memory::AddressSpace space(u64{1} << 20);
  return starts.add(program(words, space));
}

// Answers getcwd with the job's number and kills what faults.
Outcome serve(const Call& call, Cpu& cpu, GuestMemory& memory) {
  if (call.request.kind == kernel::RequestKind::kFault) return {.kind = OutcomeKind::kSignal, .code = 9};
  EXPECT_EQ(cpu.x[8], kGetcwd);
  const u64 job = call.request.job;
  EXPECT_TRUE(memory.write(cpu.x[0], &job, sizeof job));
  cpu.x[0] = job;
  return {};
}

std::string random_input(Random& random, u64 longest) {
  std::string input(below(random, below(random, 4) == 0 ? longest : longest / 10 + 1), ' ');
  for (char& c : input) c = char(random());
  return input;
}

u64 count_of(const std::string& input) {
  u64 count = 0;
  for (const char c : input) count += (u8(c) & 7) + 1u;
  return count;
}

// Gives the number of launches it took.
u32 stream_jobs(Lanes kind, const SimulatedDevice::Plan& plan, u32 job_count, u64 longest, u64 seed,
                const std::function<bool()>& pause = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  SimulatedDevice device(plan);
  cuda::StartSet starts;
  const u32 echo = add_program(starts, kEcho);
  std::vector<SimulatedDevice::Job> jobs;
  for (u32 i = 0; i < job_count; ++i) jobs.push_back({echo, random_input(random, longest)});
  device.load(starts, jobs);
  const u32 launches = device.run({.kind = kind,
                                   .seed = seed,
                                   .slice = 1 + u32(below(random, 500)),
                                   .reconverge = seed % 3 != 0,
                                   .serve = serve,
                                   .pause = pause,
                                   .pauses = pause ? 3u : 0u});

  EXPECT_EQ(device.finished().size(), job_count);
  EXPECT_EQ(std::set(device.finished().begin(), device.finished().end()).size(), job_count);
  for (u32 i = 0; i < job_count; ++i) {
    const kernel::JobEnd& end = device.end(i);
    const u64 count = count_of(jobs[i].input);
    EXPECT_EQ(end.stop.kind, StopKind::kExit) << i;
    EXPECT_EQ(end.stop.code, i32((count + i) & 0xff)) << i;
    // 9 instructions, 4 and 3 a step of the inner loop and 1 for each byte, 18, and the last CBZ.
    EXPECT_EQ(end.retired, 28 + 5 * jobs[i].input.size() + 3 * count) << i;
    EXPECT_EQ(end.kernel_calls, 3u) << i;
    EXPECT_EQ(end.host_calls, 1u) << i;
    EXPECT_EQ(device.output(i), jobs[i].input) << i;
  }
  u64 retired = 0;
  for (u32 i = 0; i < job_count; ++i) retired += device.end(i).retired - device.end(i).shared;
  EXPECT_LE(device.warp_instructions(), retired);
  EXPECT_GE(device.warp_instructions() << plan.group_shift, retired);
  EXPECT_EQ(device.world().frames_in_use(), 0u);
  EXPECT_EQ(device.free_slots(), plan.slots);
  return launches;
}

TEST(Jobs, AreStreamedThroughOneLane) { stream_jobs(Lanes::kFibers, {.frames = 8}, 20, 3500, 1); }
TEST(Jobs, AreStreamedThroughGroups) {
  for (u64 seed = 1; seed <= 6; ++seed) {
    stream_jobs(Lanes::kFibers, {.group_shift = u32(seed % 4), .groups = 2, .slots = 1 + u32(seed % 3)}, 50, 400, seed);
  }
}
TEST(Jobs, AreStreamedThroughAWholeWarp) { stream_jobs(Lanes::kFibers, {.group_shift = 5}, 64, 100, 7); }
TEST(Jobs, AreStreamedThroughThreads) { stream_jobs(Lanes::kThreads, {.group_shift = 1, .groups = 2}, 8, 12, 8); }
TEST(Jobs, FewerJobsThanLanesAllRun) { stream_jobs(Lanes::kFibers, {.group_shift = 3, .groups = 2}, 3, 100, 9); }

// Launches that pause and resume give the same results, wherever the lanes were.
TEST(Jobs, ResultsDoNotDependOnSlices) {
  u32 most = 0;
  for (u64 seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const SimulatedDevice::Plan plan{.group_shift = u32(seed % 4), .groups = 2, .slots = 1 + u32(seed % 3)};
    const auto pause = [&] { return below(random, seed) == 0; };
    most = std::max(most, stream_jobs(Lanes::kFibers, plan, 50, 400, seed, pause));
  }
  stream_jobs(Lanes::kThreads, {.group_shift = 1, .groups = 2}, 8, 12, 8, [] { return true; });
  EXPECT_GT(most, 3u);
}

TEST(Jobs, CancelEndsJobsBetweenSlices) {
  for (u64 seed = 1; seed <= 4; ++seed) {
    SimulatedDevice device({.group_shift = u32(seed % 3), .groups = 2, .slots = 2});
    cuda::StartSet starts;
    const u32 programs[] = {add_program(starts, kChatter), add_program(starts, kAsking), add_program(starts, kEndless)};
    std::vector<SimulatedDevice::Job> jobs;
    for (u32 i = 0; i < 40; ++i) jobs.push_back({programs[i % 3], {}});
    device.load(starts, jobs);
    u32 polls = 0;
    std::atomic<bool> has_paused = false;
    const u32 launches = device.run({.seed = seed,
                                     .slice = 50,
                                     .serve = serve,
                                     .cancel = [&] { return has_paused && ++polls > 60; },
                                     .pause = [&] { return polls % 4 == 1; },
                                     .pauses = 1,
                                     .paused = [&] { has_paused = true; }});
    EXPECT_GT(launches, 1u);
    EXPECT_EQ(device.finished().size(), device.lane_count());
    for (const u32 job : device.finished()) EXPECT_EQ(device.end(job).stop.kind, StopKind::kCancelled) << job;
    EXPECT_EQ(device.free_slots(), 2u);
  }
}

// As the host stops a job that takes too long: between two launches it takes the rest of the budget away.
TEST(Jobs, OverdueJobsEndAndTheNextOnesStart) {
  for (u64 seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SimulatedDevice device({.group_shift = u32(seed % 4), .groups = 2, .slots = 2});
    cuda::StartSet starts;
    const u32 programs[] = {add_program(starts, kEcho), add_program(starts, kChatter), add_program(starts, kAsking),
                            add_program(starts, kEndless)};
    std::vector<SimulatedDevice::Job> jobs;
    for (u32 i = 0; i < 40; ++i) jobs.push_back({programs[i % 4], random_input(random, 100)});
    device.load(starts, jobs);
    const auto stop_endless = [&] {
      for (u32 i = 0; i < device.lane_count(); ++i) {
        if (device.lane(i).job != kernel::kNoJob && device.lane(i).job % 4 != 0) device.lane(i).left = 0;
      }
    };
    device.run({.seed = seed, .slice = 50, .serve = serve, .pause = [] { return true; }, .paused = stop_endless});
    ASSERT_EQ(device.finished().size(), jobs.size());
    for (u32 i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(device.end(i).stop.kind, i % 4 == 0 ? StopKind::kExit : StopKind::kBudget) << i;
      if (i % 4 == 0) EXPECT_EQ(device.output(i), jobs[i].input) << i;
    }
    EXPECT_EQ(device.free_slots(), 2u);
  }
}

TEST(JobClock, FindsEachOverdueJobOnce) {
  using namespace std::chrono_literals;
  constexpr u32 kNone = kernel::kNoJob;
  cuda::JobClock clock(100ms, 3);
  const auto update = [&](u32 a, u32 b, u32 c, std::chrono::milliseconds now) {
    std::vector<std::pair<u32, u32>> overdue;
    for (const auto& one : clock.update(std::vector<u32>{a, b, c}, now)) overdue.emplace_back(one.lane, one.job);
    return overdue;
  };
  using Pairs = std::vector<std::pair<u32, u32>>;
  EXPECT_TRUE(clock.is_limited());
  EXPECT_EQ(update(kNone, 0, 1, 0ms), Pairs());
  EXPECT_EQ(update(2, 0, 3, 50ms), Pairs());
  EXPECT_EQ(update(2, 0, 3, 99ms), Pairs());
  EXPECT_EQ(update(2, 0, 3, 100ms), (Pairs{{1, 0}}));
  EXPECT_EQ(update(2, 0, 3, 149ms), Pairs());
  EXPECT_EQ(update(2, kNone, 3, 150ms), (Pairs{{0, 2}, {2, 3}}));
  EXPECT_EQ(update(kNone, 4, 3, 300ms), Pairs());
  EXPECT_FALSE(cuda::JobClock(cuda::JobClock::kNoLimit, 3).is_limited());
}

TEST(Jobs, BudgetEndsJobsAndTheNextOnesStart) {
  SimulatedDevice device({.group_shift = 2});
  cuda::StartSet starts;
  const u32 endless = add_program(starts, kEndless);
  device.load(starts, std::vector<SimulatedDevice::Job>(11, {endless, {}}));
  device.run({.budget = 1001, .slice = 100, .serve = serve});
  EXPECT_EQ(device.finished().size(), 11u);
  for (u32 i = 0; i < 11; ++i) {
    EXPECT_EQ(device.end(i).stop.kind, StopKind::kBudget);
    EXPECT_EQ(device.end(i).retired, 1001u);
    EXPECT_EQ(device.end(i).registers.x[0], 501u);
  }
}

// The greedy ones die, the others never notice.
TEST(Jobs, OneThatExceedsItsMemoryDiesAlone) {
  SimulatedDevice device({.group_shift = 2, .groups = 2, .frames = 12, .page_limit = 5});
  cuda::StartSet starts;
  const u32 echo = add_program(starts, kEcho), greedy = add_program(starts, kGreedy);
  Random random(4);
  std::vector<SimulatedDevice::Job> jobs;
  for (u32 i = 0; i < 30; ++i) jobs.push_back({i % 3 == 0 ? greedy : echo, random_input(random, 100)});
  device.load(starts, jobs);
  device.run({.slice = 200, .serve = serve});
  for (u32 i = 0; i < 30; ++i) {
    const kernel::JobEnd& end = device.end(i);
    if (i % 3 != 0) {
      EXPECT_EQ(end.stop.kind, StopKind::kExit) << i;
      EXPECT_EQ(device.output(i), jobs[i].input) << i;
      continue;
    }
    EXPECT_EQ(end.stop.kind, StopKind::kSignal) << i;
    EXPECT_EQ(end.stop.trap, Trap::kOutOfMemory) << i;
    EXPECT_EQ(end.private_pages, 5u) << i;
    EXPECT_EQ(end.registers.fault_address, kScratch + 5 * kPageSize) << i;
  }
  EXPECT_EQ(device.world().frames_in_use(), 0u);
}

TEST(Jobs, CancelEndsWhateverLanesAreDoing) {
  for (u64 seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SimulatedDevice device({.group_shift = u32(seed % 4), .groups = 2, .slots = 2});
    cuda::StartSet starts;
    const u32 programs[] = {add_program(starts, kChatter), add_program(starts, kAsking), add_program(starts, kEndless),
                            add_program(starts, kEcho)};
    std::vector<SimulatedDevice::Job> jobs;
    // Sometimes no lane can run: all wait for the host or for the output ring.
    const u64 kinds = seed % 2 == 0 ? 2 : 4;
    for (u32 i = 0; i < 40; ++i) jobs.push_back({programs[below(random, kinds)], "some input"});
    device.load(starts, jobs);
    u32 polls = 0;
    device.run({.seed = seed, .slice = seed < 3 ? 20u : 1000u, .serve = serve, .cancel = [&] { return ++polls > 50; }});
    const auto& finished = device.finished();
    EXPECT_EQ(std::set(finished.begin(), finished.end()).size(), finished.size());
    EXPECT_LE(finished.size(), 40u);
    u32 cancelled = 0;
    for (const u32 job : finished) {
      const StopKind kind = device.end(job).stop.kind;
      EXPECT_TRUE(kind == StopKind::kCancelled || (kind == StopKind::kExit && jobs[job].start == programs[3])) << job;
      cancelled += kind == StopKind::kCancelled;
    }
    // Not all lanes have a job to lose: some are between two of them.
    EXPECT_LE(cancelled, std::min(device.lane_count(), 40u - u32(finished.size() - cancelled)));
    EXPECT_EQ(device.free_slots(), 2u);
    for (const u32 job : finished) {
      if (jobs[job].start == programs[0]) EXPECT_EQ(device.output(job).size() % 3000 % kernel::kMostInRecord, 0u);
    }

    // And the device is as good as new.
    device.load(starts, std::vector<SimulatedDevice::Job>(5, {programs[3], "again"}));
    device.run({.seed = seed, .serve = serve});
    EXPECT_EQ(device.finished().size(), finished.size());
    for (u32 i = 0; i < 5; ++i) EXPECT_EQ(device.end(i).stop.kind, StopKind::kExit);
    EXPECT_EQ(device.world().frames_in_use(), 0u);
  }
}

// All lanes begin, and run one after the other.
TEST(Jobs, StoppedLanesStartInALaterLaunch) {
  using kernel::Order;
  SimulatedDevice device({.group_shift = 1});
  cuda::StartSet starts;
  memory::AddressSpace space(u64{1} << 20);
  auto contents = program({add_imm(0, 0, 1), add_imm(0, 0, 1), hlt(0)}, space);
  contents.is_process = false;
  contents.cpu.x[0] = 5;
  const u32 start = starts.add(contents);
  device.load(starts, std::vector<SimulatedDevice::Job>(2, {start, {}}));
  device.run({.orders = {Order::kStart, Order::kStartStopped}, .serve = serve});
  EXPECT_EQ(device.end(0).stop.trap, Trap::kHalt);
  EXPECT_EQ(device.end(0).registers.x[0], 7u);
  EXPECT_EQ(device.end(1).retired, 0u);
  EXPECT_EQ(device.end(1).registers.x[0], 5u);
  device.run({.budget = 1, .orders = {Order::kStayStopped, Order::kContinue}, .serve = serve});
  EXPECT_EQ(device.end(1).stop.kind, StopKind::kBudget);
  EXPECT_EQ(device.end(1).registers.x[0], 6u);
}

// Raw lanes whose SVC goes to the host, which continues them twice.
TEST(Jobs, RawCallsGoToTheHost) {
  SimulatedDevice device({.group_shift = 2});
  cuda::StartSet starts;
  memory::AddressSpace space(u64{1} << 20);
  auto contents = program({svc(3), svc(4), svc(5), hlt(0)}, space);
  contents.is_process = false;
  const u32 start = starts.add(contents);
  device.load(starts, std::vector<SimulatedDevice::Job>(4, {start, {}}));
  device.run({.raw_calls = true,
              .orders = std::vector(4, kernel::Order::kStart),
              .serve = [](const Call& call, Cpu& cpu, GuestMemory&) -> Outcome {
                cpu.x[5] += call.request.lane + 1;
                return {.kind = cpu.fault_address == 5 ? OutcomeKind::kStopped : OutcomeKind::kContinue};
              }});
  for (u32 i = 0; i < 4; ++i) {
    EXPECT_EQ(device.end(i).stop.kind, StopKind::kTrap);
    EXPECT_EQ(device.end(i).stop.trap, Trap::kSystemCall);
    EXPECT_EQ(device.end(i).registers.x[5], 3 * (i + 1));
    EXPECT_EQ(device.end(i).registers.pc, kProgram + 12);
    EXPECT_EQ(device.end(i).retired, 3u);
  }
}

}  // namespace
}  // namespace kvrm::backend::test
