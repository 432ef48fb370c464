// Lanes at work on a device: those that share one memory, one that waits while its neighbours run, starts and cancels.
// KVRM_TEST_DEVICE=cuda runs all of it on a GPU; otherwise it is a test of the CPU device. KVRM_TEST_ENGINE=jit runs it
// translated, =interp interpreted.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../machine/programs.h"
#include "../machine/shared_words.h"
#include "backend/cuda/driver.h"

namespace kvrm::test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::uint64_t kData = 0x40000, kDataBytes = 0x40000, kProgramBytes = 4096;

bool on_gpu() {
  const char* device = std::getenv("KVRM_TEST_DEVICE");
  return device && std::string(device) == "cuda";
}

bool translates() {
  const char* engine = std::getenv("KVRM_TEST_ENGINE");
  return engine && std::string(engine) == "jit";
}

Options device_options(unsigned lanes) {
  Options options;
  options.device = on_gpu() ? Device::kCuda : Device::kCpu;
  options.lanes = lanes;
  options.memory_limit = std::uint64_t{64} << 20;
  if (std::getenv("KVRM_TEST_ENGINE")) {
    options.engine = translates() ? Engine::kJit : Engine::kInterpreter;
    options.jit_threshold = 0;
  }
  return options;
}

// How lanes lie on a GPU; the CPU device gives each a thread.
struct Shape {
  unsigned lanes;
  unsigned per_warp;
};
const Shape kShapes[] = {{2, 1}, {2, 2}, {8, 4}, {64, 32}};

// Lanes with one memory. Program i is at kCode + i * kProgramBytes, and all lanes begin with the first. On a GPU only
// code that no lane can write is translated.
Machine shared_machine(const Shape& shape, const std::vector<Words>& programs, bool writable = !translates()) {
  ::setenv("KVRM_LANES_PER_WARP", std::to_string(shape.per_warp).c_str(), 1);
  Options options = device_options(shape.lanes);
  options.shared_memory = true;
  auto machine = Machine::create(options);
  if (!machine) {
    ADD_FAILURE() << machine.error().message;
    std::exit(1);
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::uint64_t at = kCode + i * kProgramBytes;
    EXPECT_TRUE(writable ? machine->load(bytes_of(programs[i]), at) : machine->load_code(bytes_of(programs[i]), at));
  }
  EXPECT_TRUE(machine->map(kData, kDataBytes, kProtectRead | kProtectWrite));
  for (unsigned lane = 0; lane < shape.lanes; ++lane) {
    machine->lane(lane).set_pc(kCode);
    machine->lane(lane).set_x(0, kData);
  }
  return std::move(*machine);
}

std::uint64_t word_at(const Machine& machine, std::uint64_t address) {
  std::uint64_t word = 0;
  EXPECT_TRUE(machine.read(address, std::as_writable_bytes(std::span(&word, 1))));
  return word;
}

void expect_all_halt(Machine& machine) {
  unsigned lane = 0;
  for (const Stop& stop : machine.run_all()) {
    EXPECT_EQ(stop.reason, StopReason::kHalt) << "lane " << lane << ": " << stop.message;
    ++lane;
  }
}

// Long enough for a GPU to be asked what it runs, where that is to be translated.
std::uint64_t rounds(const Shape& shape) { return (!on_gpu() ? 20000 : translates() ? 64000 : 6400) / shape.lanes; }

TEST(SharedMemory, CountersEndExactlyRight) {
  for (const Shape& shape : kShapes) {
    for (const Words& words : {kAddLdadd, kAddExclusive}) {
      Machine machine = shared_machine(shape, {words});
      for (unsigned lane = 0; lane < shape.lanes; ++lane) machine.lane(lane).set_x(1, rounds(shape));
      expect_all_halt(machine);
      EXPECT_EQ(word_at(machine, kData), shape.lanes * rounds(shape)) << shape.lanes << " lanes";
    }
  }
}

TEST(SharedMemory, Spinlocks) {
  for (const Shape& shape : kShapes) {
    for (const Words& words : {kLockExclusive, kLockCas, kLockSwap}) {
      Machine machine = shared_machine(shape, {words});
      for (unsigned lane = 0; lane < shape.lanes; ++lane) machine.lane(lane).set_x(1, rounds(shape) / 4);
      expect_all_halt(machine);
      EXPECT_EQ(word_at(machine, kData + 64), shape.lanes * (rounds(shape) / 4)) << shape.lanes << " lanes";
      EXPECT_EQ(word_at(machine, kData), 0u);
    }
  }
}

// Half of the lanes exchange pairs, the others change one half of them.
TEST(SharedMemory, PairsChangeAtOnce) {
  for (const Shape& shape : kShapes) {
    for (const Words& words : {kPairCasp, kPairExclusive}) {
      Machine machine = shared_machine(shape, {words, kAddLdadd});
      for (unsigned lane = 0; lane < shape.lanes; ++lane) {
        machine.lane(lane).set_x(1, rounds(shape));
        machine.lane(lane).set_pc(kCode + lane % 2 * kProgramBytes);
      }
      expect_all_halt(machine);
      EXPECT_EQ(word_at(machine, kData), shape.lanes * rounds(shape)) << shape.lanes << " lanes";
      EXPECT_EQ(word_at(machine, kData + 8), 3 * (shape.lanes / 2 * rounds(shape))) << shape.lanes << " lanes";
    }
  }
}

TEST(SharedMemory, OneWaitsForTheOther) {
  for (const Shape& shape : kShapes) {
    Machine machine = shared_machine(shape, {kListen, kTell});
    const unsigned teller = shape.lanes - 1;
    machine.lane(teller).set_pc(kCode + kProgramBytes);
    machine.lane(teller).set_x(1, !on_gpu() ? 2000000 : translates() ? 200000 : 20000);
    machine.lane(teller).set_x(4, 77);
    expect_all_halt(machine);
    if (translates()) EXPECT_GT(machine.statistics().regions, 0u);
    for (unsigned lane = 0; lane < teller; ++lane) EXPECT_EQ(machine.lane(lane).x(3), 77u) << lane;
  }
}

// Two lanes each write a word and then read the other's.
TEST(SharedMemory, WritesComeBeforeLaterReads) {
  constexpr std::uint64_t kRounds = 1000, kLine = 64, kStep = kRounds * kLine;
  for (const Shape& shape : {Shape{2, 1}, Shape{2, 2}}) {
    for (const Words& words : {kStoreBuffer, kStoreBufferOrdered}) {
      Machine machine = shared_machine(shape, {words});
      for (unsigned lane = 0; lane < 2; ++lane) {
        machine.lane(lane).set_x(1, kRounds);
        machine.lane(lane).set_x(5, kData);
        machine.lane(lane).set_x(6, kData + kStep * (1 + lane));
        machine.lane(lane).set_x(7, kData + kStep * (2 - lane));
        machine.lane(lane).set_x(8, kData + kStep * 3 + kRounds * 8 * lane);
      }
      expect_all_halt(machine);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t at = kData + kStep * 3 + round * 8;
        EXPECT_TRUE(word_at(machine, at) == 1 || word_at(machine, at + kRounds * 8) == 1) << "round " << round;
        if (HasNonfatalFailure()) return;
      }
    }
  }
}

// One lane writes code that another runs, with the barriers the architecture asks for.
TEST(SharedMemory, CodeOfAnotherLane) {
  for (const Shape& shape : kShapes) {
    Machine machine = shared_machine(shape, {kPatched, kPatch}, true);
    const unsigned writer = shape.lanes - 1;
    machine.lane(writer).set_pc(kCode + kProgramBytes);
    machine.lane(writer).set_x(4, movz(3, 99));
    machine.lane(writer).set_x(5, kCode + 12);
    // The old word is known to all before it changes.
    for (unsigned lane = 0; lane < writer; ++lane) {
      machine.lane(lane).set_pc(kCode + 12);
      EXPECT_EQ(machine.lane(lane).run(1).reason, StopReason::kBudget);
      EXPECT_EQ(machine.lane(lane).x(3), 1u);
      machine.lane(lane).set_pc(kCode);
    }
    expect_all_halt(machine);
    for (unsigned lane = 0; lane < writer; ++lane) EXPECT_EQ(machine.lane(lane).x(3), 99u) << lane;
  }
}

// A hook reads the memory while the others run.
TEST(SharedMemory, SystemCallsSeeIt) {
  for (const Shape& shape : kShapes) {
    Words words = kAddLdadd;
    words.back() = svc(7);
    words.push_back(hlt(0));
    Machine machine = shared_machine(shape, {words});
    for (unsigned lane = 0; lane < shape.lanes; ++lane) machine.lane(lane).set_x(1, 10);
    std::uint64_t calls = 0, wrong = 0;
    machine.on_system_call([&](Lane lane, std::uint32_t immediate) {
      ++calls;
      const std::uint64_t seen = word_at(lane.machine(), kData);
      wrong += immediate != 7 || seen < calls * 10 || seen > shape.lanes * 10;
      wrong += lane.map(kData + kDataBytes, 4096, kProtectRead).ok();
      const std::uint64_t mark = lane.index() + 1;
      wrong += !lane.write(kData + 64 + lane.index() * 8, std::as_bytes(std::span(&mark, 1)));
      return true;
    });
    expect_all_halt(machine);
    EXPECT_EQ(calls, shape.lanes);
    EXPECT_EQ(wrong, 0u);
    for (unsigned lane = 0; lane < shape.lanes; ++lane) EXPECT_EQ(word_at(machine, kData + 64 + lane * 8), lane + 1);
  }
}

TEST(SharedMemory, WhatCannotBe) {
  Options options = device_options(1u << 24);
  options.shared_memory = true;
  auto many = Machine::create(options);
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("cannot share one memory"), std::string::npos) << many.error().message;

  Machine machine = shared_machine({2, 1}, {{hlt(0)}});
  EXPECT_FALSE(machine.map(kData + kDataBytes, std::uint64_t{1} << 30, kProtectRead).ok());  // more than the limit
  EXPECT_FALSE(machine.load_program(Program()).ok());
  expect_all_halt(machine);
  EXPECT_FALSE(machine.map(kData, 4096, kProtectRead).ok());
  EXPECT_FALSE(machine.protect(kData, 4096, kProtectRead).ok());
  EXPECT_FALSE(machine.unmap(kData, 4096).ok());
}

TEST(SharedMemory, CancelEndsThoseThatWaitForEver) {
  for (const Shape& shape : kShapes) {
    Machine machine = shared_machine(shape, {kListen});
    machine.start();
    while (machine.poll().instructions < 100) std::this_thread::yield();
    machine.cancel();
    for (const Stop& stop : machine.wait()) EXPECT_EQ(stop.reason, StopReason::kCancelled);
  }
}

// Lane 0 reads from a pipe that gets its bytes when the others have ended.
TEST(Lanes, OneWaitsForItsInputWhileTheOthersRun) {
  constexpr unsigned kLanes = 32;
  ::setenv("KVRM_LANES_PER_WARP", "32", 1);
  const ProgramFolder folder;
  int input[2], output[2];
  ASSERT_EQ(::pipe(input), 0);
  ASSERT_EQ(::pipe(output), 0);
  Options options = device_options(kLanes);
  options.threads = 2;
  auto machine = Machine::create(options);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  Program program;
  program.path = folder.add("digest", kDigest);
  program.standard_input = input[0];
  program.standard_output = output[1];
  program.standard_error = output[1];
  ASSERT_TRUE(machine->lane(0).load_program(program));
  program.input = "x";
  for (unsigned lane = 1; lane < kLanes; ++lane) ASSERT_TRUE(machine->lane(lane).load_program(program));
  machine->start();
  // A byte and eight more from each of the others.
  std::size_t got = 0;
  for (pollfd waiting{output[0], POLLIN, 0}; got < (kLanes - 1) * 9 && ::poll(&waiting, 1, 20000) == 1;) {
    char bytes[512];
    const ssize_t count = ::read(output[0], bytes, sizeof bytes);
    ASSERT_GT(count, 0);
    got += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(got, (kLanes - 1) * 9);
  EXPECT_TRUE(machine->is_running());
  ASSERT_EQ(::write(input[1], "x", 1), 1);
  ::close(input[1]);
  const auto stops = machine->wait();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(stops[lane].reason, StopReason::kExit) << lane;
    EXPECT_EQ(stops[lane].exit_status, stops[1].exit_status) << lane;
  }
  ::close(input[0]);
  ::close(output[0]);
  ::close(output[1]);
}

// Goes round sixteen pages at x1, each lane (x0) in an order of its own, as often as its number says, and branches by
// what it finds there: lanes of a warp need pages at different times, part, and end one after the other.
const Words kPages = {
    0xd2800009,  //    mov x9, #0
    0xd280000a,  //    mov x10, #0
    0x8b00000b,  //    add x11, x0, x0
    0x9100056b,  //    add x11, x11, #1
    0xd280000c,  //    mov x12, #0
    0x8b0b0129,  // 1: add x9, x9, x11
    0x92400d29,  //    and x9, x9, #15
    0x8b09302d,  //    add x13, x1, x9, lsl #12
    0xf94005ae,  //    ldr x14, [x13, #8]
    0x8b0c01ce,  //    add x14, x14, x12
    0xf90005ae,  //    str x14, [x13, #8]
    0xca0e014a,  //    eor x10, x10, x14
    0x3608004e,  //    tbz w14, #1, 2f
    0x93ca1d4a,  //    ror x10, x10, #7
    0x9100058c,  // 2: add x12, x12, #1
    0x9100a00f,  //    add x15, x0, #40
    0xeb0f019f,  //    cmp x12, x15
    0x54fffe81,  //    b.ne 1b
    0xd4400000,  //    hlt #0
};
std::uint64_t pages_result(std::uint64_t lane) {
  std::uint64_t pages[16] = {}, at = 0, result = 0;
  for (std::uint64_t round = 0; round < lane + 40; ++round) {
    at = (at + 2 * lane + 1) % 16;
    pages[at] += round;
    result ^= pages[at];
    if (pages[at] & 2) result = result >> 7 | result << 57;
  }
  return result;
}

TEST(Lanes, PagesInAnyOrder) {
  for (const Shape& shape : kShapes) {
    ::setenv("KVRM_LANES_PER_WARP", std::to_string(shape.per_warp).c_str(), 1);
    auto machine = Machine::create(device_options(shape.lanes));
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    for (unsigned lane = 0; lane < shape.lanes; ++lane) {
      ASSERT_TRUE(machine->lane(lane).load(bytes_of(kPages), kCode));
      ASSERT_TRUE(machine->lane(lane).map(kData, kDataBytes, kProtectRead | kProtectWrite));
      machine->lane(lane).set_pc(kCode);
      machine->lane(lane).set_x(0, lane);
      machine->lane(lane).set_x(1, kData);
    }
    expect_all_halt(*machine);
    for (unsigned lane = 0; lane < shape.lanes; ++lane)
      EXPECT_EQ(machine->lane(lane).x(10), pages_result(lane)) << lane;
  }
}

// Free bytes of GPU memory; nothing on the CPU device.
std::uint64_t free_memory() {
  if (!on_gpu()) return 0;
  auto driver = backend::cuda::Driver::instance();
  EXPECT_TRUE(driver.ok());
  auto context = backend::cuda::Context::open(*driver, 0);
  EXPECT_TRUE(context.ok());
  auto memory = (*context)->memory();
  EXPECT_TRUE(memory.ok());
  return memory->free;
}

TEST(Lanes, StartedAndCancelledAHundredTimes) {
  ::unsetenv("KVRM_LANES_PER_WARP");
  const ProgramFolder folder;
  Program program;
  program.path = folder.add("forever", kForever);
  double most = 0, sum = 0;
  std::uint64_t before = 0;
  for (unsigned machines = 0; machines <= 10; ++machines) {
    // The first one brings what stays, the driver's own and the code.
    if (machines == 1) before = free_memory();
    auto machine = Machine::create(device_options(64));
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    ASSERT_TRUE(machine->load_program(program));
    std::uint64_t seen = 0, held = 0;
    double linking = -1;
    for (unsigned cycle = 0; cycle < 10; ++cycle) {
      machine->start();
      const std::uint64_t wanted = seen + 100000;
      while (machine->poll().instructions < wanted) std::this_thread::yield();
      // At each of a hundred moments once: in launches, between them, while code is compiled or taken.
      std::this_thread::sleep_for(std::chrono::milliseconds((machines * 10 + cycle) * 37 % 110));
      const auto begin = Clock::now();
      machine->cancel();
      for (const Stop& stop : machine->wait()) ASSERT_EQ(stop.reason, StopReason::kCancelled) << stop.message;
      const double took = Milliseconds(Clock::now() - begin).count();
      most = std::max(most, took);
      sum += took;
      seen = machine->poll().instructions;
      // Translated code that was not ready when its run was cancelled comes with a later one.
      if (machine->statistics().link_seconds != linking) {
        linking = machine->statistics().link_seconds;
        held = free_memory();
      }
    }
    EXPECT_EQ(free_memory(), held) << "a cycle keeps memory";
  }
  EXPECT_EQ(free_memory(), before) << "a machine keeps memory";
  std::printf("cancel to rest: %.2f ms at most, %.2f ms on average\n", most, sum / 110);
}

// Vector instructions that the loop for very many lanes leaves to others, in code of all lanes and in each lane's own,
// at one address or at many.
TEST(Lanes, CancelledWhateverTheyRun) {
  struct Code {
    const char* name;
    std::uint32_t word;
  };
  for (const Code& code : {Code{"add", 0x91000421}, {"uqshl", 0x6e224c20}, {"ld4", 0x4c400000}, {"fdiv", 0x6e22fc20}}) {
    Words words(100, code.word);
    words.push_back(b(-100));
    for (const unsigned per_warp : {1u, 32u}) {
      if (!on_gpu() && per_warp != 1) continue;
      for (const bool own : {false, true}) {
        ::setenv("KVRM_LANES_PER_WARP", std::to_string(per_warp).c_str(), 1);
        auto machine = Machine::create(device_options(64));
        ASSERT_TRUE(machine.ok()) << machine.error().message;
        if (!own) ASSERT_TRUE(machine->load_code(bytes_of(words), kCode));
        for (unsigned lane = 0; lane < machine->lanes(); ++lane) {
          if (own) ASSERT_TRUE(machine->lane(lane).load(bytes_of(words), kCode));
          ASSERT_TRUE(machine->lane(lane).map(kData, kDataBytes, kProtectRead | kProtectWrite));
          machine->lane(lane).set_pc(kCode + lane % 4 * 60);
          machine->lane(lane).set_x(0, kData);
        }
        double most = 0;
        for (unsigned cycle = 0; cycle < 10; ++cycle) {
          machine->start();
          const auto before = machine->poll().instructions;
          while (machine->is_running() && machine->poll().instructions == before) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(cycle * 7));
          const auto begin = Clock::now();
          machine->cancel();
          for (const Stop& stop : machine->wait()) {
            ASSERT_EQ(stop.reason, StopReason::kCancelled) << stop.message;
            EXPECT_EQ(stop.word, words.at((stop.pc - kCode) / 4));
          }
          most = std::max(most, Milliseconds(Clock::now() - begin).count());
        }
        std::printf("%-5s %s, %u lanes a warp: cancel to rest: %.2f ms at most\n", code.name,
                    own ? "private code" : "shared code", per_warp, most);
      }
    }
  }
}

// Lanes that are all started again, and batches of another size, take the place of what was on the device.
TEST(Lanes, StatisticsGoOnCounting) {
  constexpr unsigned kLanes = 8;
  ::setenv("KVRM_LANES_PER_WARP", "8", 1);
  const ProgramFolder folder;
  Program program;
  program.path = folder.add("digest", kDigest);
  program.input = std::string(200, 'x');
  program.keep_output = true;
  auto machine = Machine::create(device_options(kLanes));
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  Statistics before;
  const auto expect_more = [&] {
    const Statistics now = machine->statistics();
    EXPECT_GT(now.instructions, before.instructions);
    if (on_gpu()) {
      EXPECT_GT(now.launches, before.launches);
      EXPECT_GT(now.warp_instructions, before.warp_instructions);
    }
    EXPECT_LE(now.active_lanes(), kLanes);
    before = now;
  };
  for (unsigned round = 0; round < 3; ++round) {
    ASSERT_TRUE(machine->load_program(program));
    for (const Stop& stop : machine->run_all()) EXPECT_EQ(stop.reason, StopReason::kExit) << stop.message;
    expect_more();
  }
  const auto input = std::make_shared<const std::string>(*program.input);
  for (const unsigned count : {kLanes, 2u, 1u, kLanes}) {
    std::vector<Job> jobs(count);
    for (unsigned i = 0; i < count; ++i) jobs[i] = {i, {}, {}, input};
    unsigned ended = 0;
    ASSERT_TRUE(machine->run_jobs(program, jobs, [&](JobResult&& result) {
      EXPECT_EQ(result.stop.reason, StopReason::kExit) << result.error;
      ++ended;
    }));
    EXPECT_EQ(ended, count);
    expect_more();
  }
}

}  // namespace
}  // namespace kvrm::test
