// Machines that run on a simulated device and on the CPU's interpreter, and must be the same lane by lane.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "interpreter/interpreter.h"
#include "lane_guest_memory.h"
#include "machine/stops.h"
#include "operations.h"
#include "simulated_device.h"
#include "translator/gpu/lane_kind.h"

namespace kvrm::backend::test {

// A raw machine before it runs.
struct Machine {
  std::unique_ptr<memory::AddressSpace> space = std::make_unique<memory::AddressSpace>(u64{16} << 20);
  Cpu cpu{};

  cuda::StartSet::Contents contents() const {
    return {.cpu = cpu,
            .areas = space->source_areas(),
            .pages = space->private_pages(),
            .process = {},
            .stats = {},
            .program = {}};
  }
};
using Build = std::function<Machine(u32 lane)>;

inline std::shared_ptr<const memory::Image> image_of(const std::vector<u32>& words) {
  return std::make_shared<memory::Image>(std::span(reinterpret_cast<const u8*>(words.data()), words.size() * 4));
}

inline std::string text_of(const Cpu& cpu) {
  std::ostringstream text;
  text << std::hex;
  for (u32 i = 0; i < kGeneralSlots; ++i) text << 'x' << std::dec << i << ' ' << std::hex << cpu.x[i] << '\n';
  for (u32 i = 0; i < 32; ++i)
    text << 'q' << std::dec << i << ' ' << std::hex << cpu.q[i].hi << ' ' << cpu.q[i].lo << '\n';
  text << "pc " << cpu.pc << " nzcv " << pack_nzcv(cpu) << " fpsr " << cpu.fpsr << " clock " << cpu.clock_ns
       << " exclusive " << cpu.exclusive_size << '\n';
  return text.str();
}

inline bool has_fault_address(Trap trap) {
  return trap == Trap::kUnmapped || trap == Trap::kPermission || trap == Trap::kAlignment ||
         trap == Trap::kPcAlignment || trap == Trap::kOutOfMemory || trap == Trap::kHalt || trap == Trap::kBreakpoint;
}

// Makes regions for some code.
using MakeRegions = std::function<std::vector<SimulatedRegion>(Random& random, const cuda::StartSet::SharedCode& code,
                                                               translator::LaneKind kind)>;

// What the host does for a raw machine at an SVC, whose number is in fault_address; then the machine continues.
using Host = std::function<void(Cpu& cpu, memory::GuestMemory& memory)>;

inline interpreter::Interpreter::Outcome run_here(interpreter::Interpreter& engine, Machine& machine, u64 budget,
                                                  const Host& host) {
  const std::atomic<bool> never = false;
  u64 retired = 0;
  for (;;) {
    interpreter::Interpreter::Outcome outcome = engine.run(machine.cpu, budget - retired, never);
    retired += outcome.retired;
    outcome.retired = retired;
    if (outcome.trap != Trap::kSystemCall || !host) return outcome;
    host(machine.cpu, *machine.space);
  }
}

// Runs machines on a simulated device and on the CPU, in launches of random length, and compares after each. Until all
// have stopped, or for kMost instructions, in at most kMostLaunches.
inline constexpr u64 kMost = 20000;
inline constexpr u32 kMostLaunches = 200;
inline u64 retired_in_regions = 0, prefetched = 0;
inline void compare(const SimulatedDevice::Plan& plan, SimulatedDevice::Run run, const Build& build, u64 most_budget,
                    u64 seed, const MakeRegions& regions = {}, const Host& host = {},
                    u32 most_launches = kMostLaunches) {
  SimulatedDevice device(plan);
  cuda::StartSet starts;
  std::vector<SimulatedDevice::Job> jobs;
  std::vector<Machine> here, there;
  for (u32 i = 0; i < device.lane_count(); ++i) {
    here.push_back(build(i));
    there.push_back(build(i));
    jobs.push_back({starts.add(there.back().contents()), {}});
  }
  device.load(starts, jobs);
  std::vector<std::unique_ptr<interpreter::Interpreter>> engines;
  for (Machine& machine : here) engines.push_back(std::make_unique<interpreter::Interpreter>(*machine.space));

  Random random(seed);
  if (regions) {
    const translator::LaneKind kind{.alone = plan.group_shift == 0, .window_shift = plan.window_shift()};
    for (const auto& code : starts.shared_code()) device.install_regions(code, regions(random, code, kind));
  }
  if (host) {
    run.raw_calls = true;
    run.serve = [&](const cuda::Call&, Cpu& cpu, memory::GuestMemory& memory) -> kernel::Outcome {
      host(cpu, memory);
      return {};
    };
  }
  run.orders.assign(device.lane_count(), kernel::Order::kStart);
  std::vector<bool> stopped(device.lane_count());
  u64 total = 0;
  for (u32 launch = 0; total < kMost && launch < most_launches; ++launch) {
    run.budget = 1 + below(random, std::min(most_budget, kMost));
    total += run.budget;
    run.seed = random();
    run.crowded = random() % 2 != 0;
    // Every other launch is cut into slices, which must not show.
    run.pauses = launch % 2 == 1 ? 1 + launch % 16 : 0;
    device.run(run);
    bool any = false;
    for (u32 i = 0; i < device.lane_count(); ++i) {
      if (stopped[i]) continue;
      const auto outcome = run_here(*engines[i], here[i], run.budget, host);
      const kernel::JobEnd& end = device.end(i);
      ASSERT_EQ(end.retired, outcome.retired) << "lane " << i << " of launch " << launch;
      ASSERT_EQ(text_of(end.registers), text_of(here[i].cpu)) << "lane " << i << " of launch " << launch;
      ASSERT_EQ(end.word, word_at(here[i].cpu, *here[i].space)) << "lane " << i << " of launch " << launch;
      if (outcome.trap == Trap::kNone) {
        ASSERT_EQ(end.stop.kind, kernel::StopKind::kBudget);
        any = true;
        run.orders[i] = kernel::Order::kContinue;
        continue;
      }
      ASSERT_EQ(end.stop.kind, kernel::StopKind::kTrap);
      ASSERT_EQ(end.stop.trap, outcome.trap);
      if (has_fault_address(outcome.trap)) ASSERT_EQ(end.registers.fault_address, here[i].cpu.fault_address);
      stopped[i] = true;
      run.orders[i] = kernel::Order::kStayStopped;
    }
    if (!any) break;
  }
  retired_in_regions += device.retired_in_regions();
  prefetched += device.prefetched();
  for (u32 i = 0; i < device.lane_count(); ++i) {
    EXPECT_EQ(test::describe(LaneGuestMemory(device.lane(i).space)), test::describe(*here[i].space)) << "lane " << i;
  }
}

}  // namespace kvrm::backend::test
