// Generated loops with bulk steps on a device, each in a lane of its own, against the CPU's interpreter without: stops,
// registers, memory and counts. KVRM_TEST_DEVICE=cuda runs them on a GPU, otherwise it is a trial on the CPU device;
// KVRM_TEST_ENGINE=jit or interp, KVRM_TEST_LOOPS how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "../accelerate/generated_loop.h"
#include "kvrm/machine.h"

namespace kvrm::test {
namespace {

using namespace accelerate::test;  // NOLINT(google-build-using-namespace)

constexpr unsigned kLanes = 32;
constexpr std::uint64_t kPage = 0x1000;

std::string setting(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value ? value : otherwise;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& items) {
  return std::as_bytes(std::span(items));
}

// Lanes that each have a loop as code that they cannot write, and the data of generated_loop.h.
Machine make_machine(const Options& options, const std::vector<Words>& loops) {
  auto machine = Machine::create(options);
  if (!machine) {
    ADD_FAILURE() << machine.error().message;
    std::exit(1);
  }
  std::vector<u64> data(kUntouched * kPage / sizeof(u64));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = (kDataAt + i * sizeof(u64)) * 0x9e3779b97f4a7c15;
  for (unsigned i = 0; i < loops.size(); ++i) {
    Words code = loops[i];
    code.resize(code.size() + 64, kBrk);
    Lane lane = machine->lane(i);
    EXPECT_TRUE(lane.load(bytes_of(code), kCodeAt));
    EXPECT_TRUE(lane.protect(kCodeAt, kPage, kProtectRead | kProtectExecute));
    EXPECT_TRUE(lane.map(kDataAt, kPages * kPage, kProtectRead | kProtectWrite));
    EXPECT_TRUE(lane.write(kDataAt, bytes_of(data)));
    EXPECT_TRUE(lane.protect(kDataAt + kReadOnly * kPage, kPage, kProtectRead));
    EXPECT_TRUE(lane.unmap(kDataAt + kMissing * kPage, kPage));
  }
  return std::move(*machine);
}

Registers registers_of(const Cpu& cpu) {
  Registers result;
  std::copy_n(cpu.x, 31, result.x);
  result.sp = cpu.x[kSpSlot];
  result.pc = cpu.pc;
  result.nzcv = u32{cpu.n} << 31 | u32{cpu.z} << 30 | u32{cpu.c} << 29 | u32{cpu.v} << 28;
  for (u32 i = 0; i < 32; ++i) result.v[i] = {cpu.q[i].lo, cpu.q[i].hi};
  return result;
}

std::vector<std::byte> memory_of(const Machine& machine, unsigned lane) {
  std::vector<std::byte> all(kPages * kPage);
  for (u64 page = 0; page < kPages; ++page) {
    if (page == kMissing) continue;
    const auto part = std::span(all).subspan(page * kPage, kPage);
    EXPECT_TRUE(const_cast<Machine&>(machine).lane(lane).read(kDataAt + page * kPage, part));
  }
  return all;
}

void expect_equal(Machine& machine, Machine& reference, const std::vector<Stop>& stops,
                  const std::vector<Stop>& expected, u64 first) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    SCOPED_TRACE("loop " + std::to_string(first + lane));
    ASSERT_EQ(stops[lane].reason, expected[lane].reason) << stops[lane].message;
    ASSERT_EQ(stops[lane].instructions, expected[lane].instructions);
    ASSERT_EQ(stops[lane].address, expected[lane].address);
    ASSERT_TRUE(machine.lane(lane).registers() == reference.lane(lane).registers());
  }
}

// Gives how many instructions ran in bulk steps.
std::uint64_t compare_loops(u64 first) {
  std::vector<LoopGenerator> generators;
  std::vector<Words> loops;
  for (u64 seed = first; seed < first + kLanes; ++seed) {
    generators.emplace_back(seed);
    loops.push_back(generators.back().words());
  }
  Options options;
  options.lanes = kLanes;
  options.device = Device::kCpu;
  options.engine = Engine::kInterpreter;
  Machine reference = make_machine(options, loops);
  options.device = setting("KVRM_TEST_DEVICE", "cpu") == "cuda" ? Device::kCuda : Device::kCpu;
  options.engine = setting("KVRM_TEST_ENGINE", "interp") == "jit" ? Engine::kJit : Engine::kInterpreter;
  options.jit_threshold = 0;  // every loop that can be proved, whether it pays or not
  options.accelerate = true;
  options.proof_share = 1;
  Machine machine = make_machine(options, loops);
  for (int state = 0; state < 4; ++state) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Cpu cpu{};
      state == 0 ? generators[lane].set_warm(cpu) : generators[lane].set(cpu);
      machine.lane(lane).set_registers(registers_of(cpu));
      reference.lane(lane).set_registers(registers_of(cpu));
    }
    const u64 budget = 1 + generators[0].pick(6000);
    for (const u64 now : {budget, u64{1}, u64{2}, u64{60000}}) {
      const std::vector<Stop> stops = machine.run_all(now), expected = reference.run_all(now);
      expect_equal(machine, reference, stops, expected, first);
      if (testing::Test::HasFatalFailure()) return 0;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
      EXPECT_TRUE(memory_of(machine, lane) == memory_of(reference, lane)) << "loop " << first + lane;
  }
  return machine.statistics().loops.instructions;
}

TEST(Loops, BulkStepsChangeNothing) {
  const u64 count = std::strtoull(setting("KVRM_TEST_LOOPS", "64").c_str(), nullptr, 10);
  std::uint64_t instructions = 0;
  for (u64 first = 0; first < count && !HasFailure(); first += kLanes) instructions += compare_loops(first);
  std::printf("%llu loops, %llu instructions in bulk steps\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(instructions));
  if (setting("KVRM_TEST_DEVICE", "cpu") == "cuda") EXPECT_GT(instructions, 0u);
}

}  // namespace
}  // namespace kvrm::test
