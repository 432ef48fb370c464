// Code that lanes can write, on simulated warps against the CPU's interpreter: whatever was written last counts, for
// the very next instruction, and what is not written is decoded once.
#include "../machine/words.h"
#include "compare.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using memory::kCodeLineBytes;
using memory::kPageSize;

constexpr u32 kFewLaunches = 24;
constexpr u64 kOwn = 0x100000, kShared = 0x200000, kDataAt = 0x300000;

constexpr u32 str_x(u32 rt, u32 rn, u32 imm12) { return 0xf9000000 | imm12 << 10 | rn << 5 | rt; }
constexpr u32 bl(i32 words) { return 0x94000000 | (static_cast<u32>(words) & 0x3ffffff); }

void put_own(Machine& machine, u64 at, const Words& words) {
  EXPECT_TRUE(machine.space->poke(at, words.data(), words.size() * 4));
}
// Two pages of the lane's own and a page of data, in x20 and x19; pc is at the words.
Machine own_machine(u64 at, const Words& words) {
  Machine machine;
  EXPECT_TRUE(machine.space->map(kOwn, 2 * kPageSize, 7));
  EXPECT_TRUE(machine.space->map(kDataAt, kPageSize, memory::kRead | memory::kWrite));
  put_own(machine, at, words);
  machine.cpu.x[20] = kOwn;
  machine.cpu.x[19] = kDataAt;
  machine.cpu.pc = at;
  return machine;
}

// Compares lanes of several kinds of groups, with little and much room for decoded code, in short and long launches.
void compare_all(const Build& build, const Host& host = {}) {
  for (const u32 shift : {0u, 2u}) {
    for (const u32 lines : {1u, 2u, 8u}) {
      for (const u64 budget : {1u, 9u, 300u, 100000u}) {
        SCOPED_TRACE(testing::Message() << "shift " << shift << ", " << lines << " lines, budget " << budget);
        compare({.group_shift = shift, .private_lines = lines}, {.slice = budget == 9 ? 7u : 8192u}, build, budget,
                budget + shift, {}, host, kFewLaunches);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// The words that were decoded while a machine ran.
u64 decoded_words(const Build& build, u32 lines = 4) {
  dispatch::Counts counts{};
  SimulatedDevice device({.router = {.counts = &counts}, .private_lines = lines});
  cuda::StartSet starts;
  Machine machine = build(0);
  device.load(starts, {{starts.add(machine.contents()), {}}});
  counts = {};  // without those of images
  device.run({.budget = 10000, .orders = {kernel::Order::kStart}});
  EXPECT_EQ(device.end(0).retired, 10000u);
  u64 sum = 0;
  for (const u64 routed : counts.routed) sum += routed;
  return sum;
}

TEST(PrivateCode, LoopIsDecodedOnce) {
  // Across the end of a line, with an access to a page of data.
  const Build build = [](u32) {
    return own_machine(kOwn + kCodeLineBytes - 8,
                       {add_imm(0, 0, 1), str_x(0, 19, 0), 0xf9400262, add_imm(2, 2, 1), b(-4)});
  };
  EXPECT_EQ(decoded_words(build), 5u);
  compare_all(build);
}

TEST(PrivateCode, DataBesideCodeInvalidatesNothing) {
  // In the same line, after the code; elsewhere on the page, with a pair across two lines.
  const Build beside = [](u32) { return own_machine(kOwn, {add_imm(0, 0, 1), str_x(0, 20, 2), b(-2)}); };
  const Build same_page = [](u32) {
    Machine machine = own_machine(kOwn + 16, {add_imm(0, 0, 1), 0xa9000002 | 21 << 5, b(-2)});  // stp x2, x0, [x21]
    machine.cpu.x[21] = kOwn + 2 * kCodeLineBytes - 8;
    return machine;
  };
  // The page is given up now and then: 256 writes later.
  const u64 given_up = 10000 / 3 / 256;
  EXPECT_LE(decoded_words(beside), 3 * (given_up + 1));
  EXPECT_LE(decoded_words(same_page), 3 * (given_up + 1));
  compare_all(beside);
  compare_all(same_page);
}

TEST(PrivateCode, LinesThatEvictEachOtherAreExact) {
  // Functions at the same offset of neighboring lines, which call each other.
  const Build build = [](u32) {
    constexpr i32 kNext = kCodeLineBytes / 4;
    Machine machine = own_machine(kOwn, {bl(kNext), add_imm(0, 0, 1), bl(2 * kNext - 2), b(-3)});
    put_own(machine, kOwn + kCodeLineBytes, {add_imm(1, 1, 1), kRet});
    put_own(machine, kOwn + 2 * kCodeLineBytes, {add_imm(2, 2, 1), add_imm(2, 2, 2), kRet});
    return machine;
  };
  EXPECT_EQ(decoded_words(build, 8), 9u);
  EXPECT_GT(decoded_words(build, 1), 5000u);
  compare_all(build);
}

// Sequentially from line to line and page to page, up to where nothing can be fetched.
TEST(PrivateCode, RunsFromLineToLineUpToAFetchFault) {
  for (const u32 last : {0u, 3u, 7u}) {
    const Build build = [&](u32 lane) {
      Machine machine = own_machine(kOwn, Words(2 * kPageSize / 4, add_imm(0, 0, 1)));
      EXPECT_TRUE(machine.space->map(kOwn + 2 * kPageSize, kPageSize, last));
      machine.cpu.pc += 4 * lane;
      return machine;
    };
    compare({.group_shift = 1}, {}, build, 100000, 1);
    compare({.group_shift = 1, .private_lines = 1}, {.slice = 50}, build, 77, 1);
  }
  const Build odd = [](u32) {
    Machine machine = own_machine(kOwn, {add_imm(0, 0, 1), br(1)});
    machine.cpu.x[1] = kOwn + 2;
    return machine;
  };
  compare_all(odd);
}

// Every kind of store to the instruction after it, to an earlier one and to itself, each time round the loop.
TEST(PrivateCode, SelfModifyingCodeIsExact) {
  // w2 holds add x0, x0, #n, for n counting up.
  const u32 stores[] = {
      0xb9000002 | 3 << 5,                // str w2, [x3]
      0xf9000002 | 3 << 5,                // str x2, [x3]
      0x39000002 | 3 << 5,                // strb w2, [x3]
      0xb8001002 | 3 << 5,                // stur w2, [x3, #1]
      0xa9000802 | 3 << 5,                // stp x2, x2, [x3]
      0x3d800002 | 3 << 5,                // str q2, [x3]
      0x0d008002 | 3 << 5,                // st1 {v2.s}[0], [x3]
      0xb8248042 | 3 << 5,                // swp w4, w2, [x3]
      0xb8220042 | 3 << 5,                // ldadd w2, w2, [x3]
      0xd50b7423,                         // dc zva, x3
  };
  for (const u32 store : stores) {
    for (const i32 where : {-1, 0, 1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << std::hex << store << std::dec << " at " << where);
      const Build build = [&](u32 lane) {
        const u64 at = kOwn + kCodeLineBytes - 16;
        Machine machine = own_machine(at, {add_imm(1, 1, 1), add_imm(0, 0, 7), store, kNop, add_imm(2, 2, 1024), kNop,
                                           subs_imm(5, 5, 1), b_ne(-6), hlt(0)});
        machine.cpu.x[2] = u64{kNop} << 32 | add_imm(0, 0, 1 + lane);
        machine.cpu.q[2] = {machine.cpu.x[2], u64{kNop} << 32 | kNop};
        machine.cpu.x[3] = at + 8 + u64(where * 4);
        machine.cpu.x[4] = add_imm(6, 6, 3);
        machine.cpu.x[5] = 20;
        return machine;
      };
      compare({.group_shift = 1}, {}, build, 100000, 1);
      compare({.group_shift = 0, .private_lines = 1}, {.slice = 13}, build, 25, 1);
      if (HasFailure()) return;
    }
  }
}

// What a host, or a call that the lane answers itself, does to code between two calls of a function.
TEST(PrivateCode, RemappedCodeIsExact) {
  constexpr u64 kElsewhere = kOwn + 64 * kPageSize;
  const u32 replacement = add_imm(0, 0, 50);
  using Change = std::function<bool(memory::GuestMemory & memory)>;
  const Change changes[] = {
      [&](memory::GuestMemory& memory) { return memory.write(kOwn + 4, &replacement, 4); },
      [&](memory::GuestMemory& memory) { return memory.poke(kOwn + 4, &replacement, 4); },
      [&](memory::GuestMemory& memory) { return memory.write(kOwn + 0x800, &replacement, 4); },
      [](memory::GuestMemory& memory) { return memory.protect(kOwn, kPageSize, 3); },
      [](memory::GuestMemory& memory) { return memory.protect(kOwn, kPageSize, 5); },
      [](memory::GuestMemory& memory) { return memory.unmap(kOwn, kPageSize); },
      [](memory::GuestMemory& memory) { return memory.map(kOwn, kPageSize, 7); },
      [](memory::GuestMemory& memory) { return memory.discard(kOwn, kPageSize); },
      [](memory::GuestMemory& memory) { return memory.move(kOwn, kPageSize, kElsewhere, kPageSize); },
      [&](memory::GuestMemory& memory) {
        const u32 words[] = {replacement, kRet};
        return memory.move(kOwn, kPageSize, kElsewhere, kPageSize) && memory.map(kOwn, kPageSize, 7) &&
               memory.poke(kOwn, words, sizeof(words));
      },
  };
  // The caller is the image's, or the lane's own.
  const Words caller = {blr(1), svc(1), blr(1), svc(2), blr(1), hlt(0)};
  const auto image = image_of(caller);
  for (const bool shared : {false, true}) {
    const Build build = [&](u32 lane) {
      Machine machine = own_machine(kOwn, {add_imm(0, 0, 1 + lane), add_imm(0, 0, 2), kRet});
      EXPECT_TRUE(machine.space->map_image(kShared, kPageSize, shared ? 5 : 7, image, 0));
      machine.cpu.x[1] = kOwn;
      machine.cpu.pc = kShared;
      return machine;
    };
    for (const Change& change : changes) {
      SCOPED_TRACE(testing::Message() << "change " << &change - changes << ", shared " << shared);
      const Host host = [&](Cpu& cpu, memory::GuestMemory& memory) { cpu.x[9 + cpu.fault_address] = change(memory); };
      compare({.group_shift = 0}, {}, build, 100000, 1, {}, host);
      compare({.group_shift = 2}, {}, build, 4, 1, {}, host);
      if (HasFailure()) return;
    }
  }
}

// Code of the image, in part translated, that writes to the page of a function which it calls again and again: the
// function itself, or beside it, few times and so often that the page is given up.
TEST(PrivateCode, WritesBySharedCodeAreSeen) {
  const auto image = image_of({
      blr(1),             // 0:
      movz(4, 20),        //
      str_x(2, 3, 0),     // 1:  str x2, [x3]
      subs_imm(4, 4, 1),  //
      b_ne(-2),           //     b.ne 1b
      0x8b060042,         //     add x2, x2, x6
      subs_imm(5, 5, 1),  //
      b_ne(-7),           //     b.ne 0b
      hlt(0),
  });
  const MakeRegions regions = [](Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind) {
    const auto part = code.words.subspan(2, 3);
    return std::vector<SimulatedRegion>{{code.start + 8, {part.begin(), part.end()}}};
  };
  for (const u64 beside : {0u, 4u, 8u, 0x400u}) {
    const Build build = [&](u32 lane) {
      Machine machine = own_machine(kOwn, {add_imm(0, 0, 1), add_imm(0, 0, 2), kRet});
      EXPECT_TRUE(machine.space->map_image(kShared, kPageSize, 5, image, 0));
      machine.cpu.x[1] = kOwn;
      machine.cpu.x[2] = u64{kRet} << 32 | add_imm(0, 0, 1 + lane);
      machine.cpu.x[3] = kOwn + beside;
      machine.cpu.x[5] = 14 + lane % 4;  // more than 256 writes
      machine.cpu.x[6] = 1024;  // the next immediate
      machine.cpu.pc = kShared + 4 * (1 - lane % 2);  // called first, or written first
      return machine;
    };
    for (const u32 shift : {0u, 2u, 5u}) {
      SCOPED_TRACE(testing::Message() << beside << " beside, shift " << shift);
      compare({.group_shift = shift}, {}, build, 100000, 1, regions);
      compare({.group_shift = shift, .private_lines = 1}, {.slice = 30}, build, 100, 2, {}, {},
              kFewLaunches >> shift / 2);
      if (HasFailure()) return;
    }
  }
}

// The host writes while the lane is stopped, when no watch is active.
TEST(PrivateCode, WritesBetweenTwoRunsAreSeen) {
  for (const u32 shift : {0u, 2u}) {
    SimulatedDevice device({.group_shift = shift});
    cuda::StartSet starts;
    std::vector<SimulatedDevice::Job> jobs;
    for (u32 i = 0; i < device.lane_count(); ++i) {
      const Machine machine = own_machine(kOwn, {add_imm(0, 0, 1), add_imm(1, 1, 1 + i), add_imm(2, 2, 1), b(-3)});
      jobs.push_back({starts.add(machine.contents()), {}});
    }
    device.load(starts, jobs);
    device.run({.budget = 40, .orders = std::vector(device.lane_count(), kernel::Order::kStart)});
    for (u32 i = 0; i < device.lane_count(); ++i) {
      const u32 word = add_imm(1, 1, 100 + i);
      LaneGuestMemory memory(device.lane(i).space);
      EXPECT_TRUE(i % 2 == 0 ? memory.poke(kOwn + 4, &word, 4) : memory.write(kOwn + 4, &word, 4));
    }
    device.run({.budget = 40, .orders = std::vector(device.lane_count(), kernel::Order::kContinue)});
    for (u32 i = 0; i < device.lane_count(); ++i) {
      EXPECT_EQ(device.end(i).registers.x[0], 20u) << i;
      EXPECT_EQ(device.end(i).registers.x[1], 10 * (1 + i) + 10 * (100 + i)) << i;
      EXPECT_EQ(device.end(i).registers.x[2], 20u) << i;
    }
  }
}

// Groups one after the other on few seats, each with other code and other data at the same addresses.
TEST(PrivateCode, GroupsWithTheSameSeatAreExact) {
  const Build build = [](u32 lane) {
    Machine machine = own_machine(kOwn + 4 * (lane % 2), {add_imm(0, 0, 1 + lane), str_x(0, 19, 0), ldr_x(1, 19),
                                                          add_imm(2 + lane % 3, 1, lane), b(-4)});
    if (lane % 4 == 1) machine.cpu.pc += 4;
    return machine;
  };
  for (const u32 shift : {0u, 1u}) {
    for (const u32 seats : {1u, 2u}) {
      SCOPED_TRACE(testing::Message() << "shift " << shift << ", " << seats << " seats");
      const SimulatedDevice::Plan plan{.group_shift = shift, .groups = 5, .seats = seats};
      compare(plan, {}, build, 100000, 1);
      compare(plan, {.slice = 7}, build, 50, 2, {}, {}, kFewLaunches);
    }
  }
}

// Jobs one after the other on one lane: private code, code of an image and private code again, all at one address.
TEST(PrivateCode, SuccessiveJobsAreExact) {
  const auto image = image_of({add_imm(0, 0, 7), svc(0), add_imm(0, 0, 8), hlt(0)});
  const auto words = [](u32 job) { return Words{add_imm(0, 0, 1 + job), svc(0), add_imm(1, 1, 1 + job), hlt(0)}; };
  const Build build = [&](u32 job) {
    if (job % 4 != 2) return own_machine(kOwn, words(job));
    Machine machine;
    EXPECT_TRUE(machine.space->map_image(kOwn, kPageSize, 5, image, 0));
    machine.cpu.pc = kOwn;
    return machine;
  };
  // What the host writes must not stay either.
  const Host host = [](Cpu& cpu, memory::GuestMemory& memory) {
    const u32 word = add_imm(2, 2, 9);
    if (cpu.x[0] % 2 == 0) cpu.x[3] = memory.poke(kOwn + 8, &word, 4);
  };
  for (const u32 shift : {0u, 1u}) {
    SimulatedDevice device({.group_shift = shift});
    cuda::StartSet starts;
    std::vector<SimulatedDevice::Job> jobs;
    std::vector<Machine> machines;
    for (u32 i = 0; i < 16; ++i) {
      machines.push_back(build(i));
      jobs.push_back({starts.add(machines[i].contents()), {}});
    }
    device.load(starts, jobs);
    device.run({.raw_calls = true, .serve = [&](const cuda::Call&, Cpu& cpu, memory::GuestMemory& memory) {
                  host(cpu, memory);
                  return kernel::Outcome{};
                }});
    for (u32 i = 0; i < 16; ++i) {
      interpreter::Interpreter engine(*machines[i].space);
      const auto outcome = run_here(engine, machines[i], 1000, host);
      EXPECT_EQ(device.end(i).stop.trap, outcome.trap) << i;
      EXPECT_EQ(device.end(i).retired, outcome.retired) << i;
      EXPECT_EQ(text_of(device.end(i).registers), text_of(machines[i].cpu)) << i;
    }
  }
}

// Random code that stores random instructions, and parts of them, all over itself, and asks the host to.
class WritingProgram {
 public:
  static constexpr u32 kWords = 192;
  explicit WritingProgram(u64 seed) : random_(seed) {}
  u32 word() {
    const u32 r = u32(below(random_, 8)), value = 10 + u32(below(random_, 6)), at = u32(below(random_, kWords + 16));
    switch (below(random_, 24)) {
      case 0: return 0xb9000000 | at << 10 | 21 << 5 | value;                             // str w, [x21, #]
      case 1: return 0xf9000000 | at / 2 << 10 | 21 << 5 | value;                         // str x
      case 2: return 0x39000000 | at * 4 << 10 | 21 << 5 | r;                             // strb: its low byte
      case 3: return 0xb8000000 | (at & 0xff) << 12 | 22 << 5 | value;                    // stur w, [x22, #]
      case 4: return 0xa9000000 | (at & 31) << 15 | value << 10 | 21 << 5 | value;        // stp x, x, [x21, #]
      case 5: return 0x3d800000 | at / 4 << 10 | 21 << 5 | r;                             // str q
      case 6: return 0xb8208000 | value << 16 | 22 << 5 | r;                              // swp w, w, [x22]
      case 7: return 0xf9000000 | (256 + at) << 10 | 21 << 5 | value;                     // str x, beyond the code
      case 8: return 0xb9400000 | at << 10 | 21 << 5 | value;                             // ldr w
      case 9: return 0x91000000 | u32(below(random_, 4)) << 12 | 22 << 5 | 22;            // add x22, x22, #
      case 10: return below(random_, 4) == 0 ? svc(u32(below(random_, 4096))) : kNop;
      case 11: return 0xb4000000 | u32(1 + below(random_, 9)) << 5 | r;                   // cbz
      case 12: return b(i32(below(random_, 60)) - 30);
      case 13:
      case 14: return b_ne(i32(below(random_, 60)) - 30);
      case 15: return 0x1e602800 | r << 16 | r << 5 | r;                                  // fadd d, d, d
      case 16: return subs_imm(r, r, 1);
      default: return add_imm(r, u32(below(random_, 8)), u32(below(random_, 4096)));
    }
  }

 private:
  Random random_;
};

void run_writing_programs(u32 group_shift, u64 first, u64 count) {
  const Host host = [](Cpu& cpu, memory::GuestMemory& memory) {
    const u64 number = cpu.fault_address;
    const u32 words[] = {WritingProgram(number).word(), add_imm(1, 1, 1)};
    if (number % 16 == 0) cpu.x[1] = memory.protect(kOwn, kPageSize, 7);
    if (number % 64 == 1) cpu.x[1] = memory.discard(kOwn + kPageSize, kPageSize);
    cpu.x[0] = memory.write(cpu.x[21] + number % WritingProgram::kWords * 4, words, number % 8);
  };
  for (u64 seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const u64 at = kOwn + below(random, 2) * (kPageSize - WritingProgram::kWords * 2) + 4 * below(random, 32);
    const bool same = below(random, 2) == 0;
    const Build build = [&](u32 lane) {
      WritingProgram program(same ? seed : seed * 100 + lane);
      Words words(WritingProgram::kWords);
      for (u32& word : words) word = program.word();
      words.back() = b(1 - i32(WritingProgram::kWords));
      Machine machine = own_machine(at, words);
      for (u32 i = 10; i < 16; ++i) machine.cpu.x[i] = u64{program.word()} << 32 | program.word();
      for (u32 i = 0; i < 8; ++i) machine.cpu.q[i] = {machine.cpu.x[10 + i % 6], machine.cpu.x[10 + (i + 1) % 6]};
      machine.cpu.x[21] = at & ~u64{15};
      machine.cpu.x[22] = at;
      return machine;
    };
    const u64 budget = below(random, 2) == 0 ? 1 + below(random, 300) : 3000;
    compare({.group_shift = group_shift, .private_lines = 1u << below(random, 4)},
            {.slice = below(random, 2) == 0 ? 1 + u32(below(random, 60)) : 8192}, build, budget, seed, {}, host,
            kFewLaunches / 2);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PrivateCode, RandomWritesOnOneLane) { run_writing_programs(0, 1000, 80); }
TEST(PrivateCode, RandomWritesOnFourLanes) { run_writing_programs(2, 2000, 30); }
TEST(PrivateCode, RandomWritesOnAWholeWarp) { run_writing_programs(5, 3000, 4); }

}  // namespace
}  // namespace kvrm::backend::test
