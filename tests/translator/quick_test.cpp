// The quick tier against the interpreter: budgets, aliases of code, code that changes, and when pages are translated.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../machine/words.h"
#include "kvrm/machine.h"

namespace kvrm {
namespace {

using namespace test;

constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kOther = 0x40000000;

Machine make(Engine engine, std::optional<unsigned> threshold = 0) {
  Options options;
  options.device = Device::kCpu;
  options.engine = engine;
  options.jit_tiers = JitTiers::kQuick;
  options.jit_threshold = threshold;
  options.code_cache = false;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  return std::move(*machine);
}

void load(Machine& machine, const Words& words, std::uint64_t address) {
  EXPECT_TRUE(machine.map(address, kPage, kProtectRead | kProtectWrite | kProtectExecute).ok());
  EXPECT_TRUE(machine.write(address, bytes_of(words)).ok());
}

// A loop with calls, compares, loads and stores; x1 is the address of data.
const Words kLoop = {
    movz(0, 50),         // x0 = 50
    0xf9400023,          // ldr x3, [x1]
    0x8b000063,          // add x3, x3, x0
    0xf9000023,          // str x3, [x1]
    0x94000004,          // bl +4: the subroutine
    subs_imm(0, 0, 1), b_ne(-5), hlt(0),
    0x9b037c64,          // mul x4, x3, x3
    0xca0400a5,          // eor x5, x5, x4
    0xd65f03c0,          // ret
};

// A stop after every possible number of instructions, and going on from there.
TEST(Quick, BudgetsAreExact) {
  Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit);
  for (Machine* machine : {&interp, &quick}) {
    load(*machine, kLoop, kOther);
    EXPECT_TRUE(machine->map(kOther + kPage, kPage, kProtectRead | kProtectWrite).ok());
  }
  for (std::uint64_t budget = 1; budget < 700; ++budget) {
    for (Machine* machine : {&interp, &quick}) {
      EXPECT_TRUE(machine->write(kOther + kPage, std::vector<std::byte>(8)).ok());
      for (unsigned i = 0; i < 31; ++i) machine->set_x(i, 0);
      machine->set_x(1, kOther + kPage);
      machine->set_pc(kOther);
    }
    const Stop expected = interp.run(budget), stop = quick.run(budget);
    ASSERT_EQ(stop.reason, expected.reason) << budget;
    ASSERT_EQ(stop.instructions, expected.instructions) << budget;
    ASSERT_EQ(stop.pc, expected.pc) << budget;
    ASSERT_TRUE(quick.registers() == interp.registers()) << budget;
    (void)interp.run(1'000'000);
    (void)quick.run(1'000'000);
    ASSERT_TRUE(quick.registers() == interp.registers()) << "after " << budget;
  }
}

// Words that set the flags, and the branch after them, which have code together; also where the branch is entered
// alone.
TEST(Quick, ComparesWithTheirBranchesAreExact) {
  const Words setters = {0xeb02003f /* cmp x1, x2 */, 0x6b020023 /* subs w3, w1, w2 */,
                         0xf1000c3f /* cmp x1, #3 */, 0x71000423 /* subs w3, w1, #1 */,
                         0xb100043f /* cmn x1, #1 */, 0x31000423 /* adds w3, w1, #1 */,
                         0xf240043f /* tst x1, #3 */, 0x72000c23 /* ands w3, w1, #15 */,
                         0xea02003f /* tst x1, x2 */, 0x6a020023 /* ands w3, w1, w2 */};
  constexpr unsigned kConditions = 16, kBlock = 8, kFirst = 2;
  constexpr std::uint32_t kForward = 3, kBackward = 0x7fffd;
  // The second word of a pair is the last of the first page, too.
  Words words(4, kNop);
  for (const std::uint32_t setter : setters) {
    for (std::uint32_t condition = 0; condition < kConditions; ++condition) {
      for (const std::uint32_t offset : {kForward, kBackward}) {
        for (const std::uint32_t word :
             {movz(9, 1), hlt(0), setter, 0x54000000 | offset << 5 | condition, movz(9, 2), hlt(0), movz(9, 3), hlt(0)})
          words.push_back(word);
      }
    }
  }
  const std::uint64_t size = (words.size() * 4 + kPage - 1) / kPage * kPage;
  Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit);
  for (Machine* machine : {&interp, &quick}) {
    ASSERT_TRUE(machine->map(kOther, size, kProtectRead | kProtectWrite | kProtectExecute).ok());
    ASSERT_TRUE(machine->write(kOther, bytes_of(words)).ok());
  }
  const std::uint64_t values[] = {0, 1, 3, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0x80000000, 0x7fffffff};
  for (std::uint64_t block = 4; block + kBlock <= words.size(); block += kBlock) {
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : {values[0], values[2], values[3], values[4]}) {
        for (const unsigned from : {kFirst, kFirst + 1}) {
          for (Machine* machine : {&interp, &quick}) {
            machine->set_x(1, a);
            machine->set_x(2, b);
            machine->set_x(9, 0);
            machine->set_pc(kOther + (block + from) * 4);
          }
          const Stop expected = interp.run(10'000), stop = quick.run(10'000);
          ASSERT_EQ(stop.instructions, expected.instructions) << block;
          ASSERT_EQ(stop.pc, expected.pc) << block;
          ASSERT_TRUE(quick.registers() == interp.registers()) << block << " " << a << " " << b << " " << from;
        }
      }
    }
  }
}

// A page of random words that hand few registers to each other: results in x0 to x3, data at x8, a drifting base x9.
Words words_that_share_registers(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](std::uint32_t count) { return static_cast<std::uint32_t>(random() % count); };
  const auto destination = [&] { return number(12) == 0 ? 31u : number(4); };
  const std::uint32_t three[] = {0x8b000000 /* add */,     0x4b000000 /* sub w */,      0xca000000 /* eor */,
                                 0xeb000000 /* subs */,    0x6a000000 /* ands w */,     0x9b007c00 /* mul */,
                                 0x9a800000 /* csel eq */, 0x1a9fb7e0 /* cset w, ge */, 0x9ac02000 /* lslv */};
  const std::uint32_t two[] = {0x91001400 /* add #5 */,    0x11001400 /* add w #5 */,  0xf1000c00 /* subs #3 */,
                               0xd3444c00 /* ubfx */,      0x53047c00 /* lsr w #4 */,  0x92401c00 /* and #0xff */,
                               0xdac01000 /* clz */,       0xd2800540 /* movz */,      0xf2a00540 /* movk */,
                               0x9e670000 /* fmov d, x */, 0x9e660000 /* fmov x, d */, 0x0ea0b800 /* neg v.2s */};
  const std::uint32_t memory[] = {0xf9400100 /* ldr x, [x8] */,
                                  0xb9400500 /* ldr w, [x8, #4] */,
                                  0xf9000500 /* str x, [x8, #8] */,
                                  0xfd400100 /* ldr d, [x8] */,
                                  0xf8408520 /* ldr x, [x9], #8 */,
                                  0xa9400500 /* ldp x, x1, [x8] */,
                                  0xf8627900 /* ldr x, [x8, x2, lsl #3] */,
                                  0xa8c10520 /* ldp x, x1, [x9], #16 */};
  Words words;
  while (words.size() < kPage / 4) {
    const auto here = static_cast<std::int32_t>(words.size());
    const auto to = static_cast<std::uint32_t>(static_cast<std::int32_t>(number(1000)) % 24 - (here < 12 ? 0 : 12));
    switch (number(8)) {
      case 0: words.push_back(memory[number(8)] | destination()); break;
      case 1: words.push_back(0x54000000 | (to & 0x7ffff) << 5 | number(16)); break;          // b.cond
      case 2: words.push_back(0xb4000000 | (to & 0x7ffff) << 5 | number(4)); break;           // cbz
      case 3: words.push_back(number(4) == 0 ? 0x14000000 | (to & 0x3ffffff) : kNop); break;  // b
      case 4:
      case 5: words.push_back(two[number(12)] | number(4) << 5 | destination()); break;
      default: words.push_back(three[number(9)] | number(4) << 16 | number(4) << 5 | destination());
    }
  }
  return words;
}

// One register is kept in a host register between words; any word may be the first one.
// CSET, CSETM and their neighbors, which select between constants or not; and FCMP, whose flags come from vectors.
TEST(Quick, SelectionsAreExact) {
  Words words;
  for (std::uint32_t condition = 0; condition < 16; ++condition) {
    for (const std::uint32_t base : {0x9a9f07e3u /* csinc x3, xzr, xzr */, 0x1a9f07e3u /* csinc w3, wzr, wzr */,
                                     0xda9f03e3u /* csinv x3, xzr, xzr */, 0x5a9f03e3u /* csinv w3, wzr, wzr */,
                                     0x9a9f0423u /* csinc x3, x1, xzr */, 0xda8203e3u /* csinv x3, xzr, x2 */,
                                     0x9a82003fu /* csel xzr, x1, x2 */}) {
      words.push_back(base | condition << 12);
      words.push_back(0xca030084 | 4 << 5);  // eor x4, x4, x3
      words.push_back(0x93c41084);           // ror x4, x4, #4
    }
  }
  words.push_back(hlt(0));
  Words flags = {0xeb02003f /* cmp x1, x2 */};
  flags.insert(flags.end(), words.begin(), words.end());
  Words floats = {0x9e670020 /* fmov d0, x1 */, 0x9e670041 /* fmov d1, x2 */, 0x1e612000 /* fcmp d0, d1 */};
  floats.insert(floats.end(), words.begin(), words.end());
  const std::uint64_t values[] = {
      0, 1, 0x3ff0000000000000, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0x7ff0000000000000};
  for (const Words& code : {flags, floats}) {
    Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit);
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : values) {
        for (Machine* machine : {&interp, &quick}) {
          if (a == values[0] && b == values[0]) load(*machine, code, kOther);
          machine->set_x(1, a);
          machine->set_x(2, b);
          machine->set_pc(kOther);
        }
        ASSERT_EQ(quick.run(2000).instructions, interp.run(2000).instructions);
        ASSERT_TRUE(quick.registers() == interp.registers()) << a << ' ' << b;
      }
    }
  }
}

TEST(Quick, CachedRegistersAreExact) {
  constexpr std::uint64_t kBudget = 3000;  // near its end words are run one by one
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Words words = words_that_share_registers(seed);
    Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit);
    for (Machine* machine : {&interp, &quick}) {
      load(*machine, words, kOther);
      ASSERT_TRUE(machine->map(kOther + kPage, kPage, kProtectRead | kProtectWrite).ok());
    }
    for (std::uint64_t first = 0; first < words.size(); ++first) {
      for (Machine* machine : {&interp, &quick}) {
        for (unsigned i = 0; i < 4; ++i) machine->set_x(i, first * (i + 1) + i);
        machine->set_x(8, kOther + kPage);
        machine->set_x(9, kOther + 2 * kPage - 64);
        machine->set_pc(kOther + first * 4);
      }
      const Stop expected = interp.run(kBudget), stop = quick.run(kBudget);
      ASSERT_EQ(stop.reason, expected.reason) << seed << " " << first;
      ASSERT_EQ(stop.instructions, expected.instructions) << seed << " " << first;
      ASSERT_EQ(stop.pc, expected.pc) << seed << " " << first;
      ASSERT_TRUE(quick.registers() == interp.registers()) << seed << " " << first;
    }
  }
}

// Code is made for one address: the same words elsewhere have other addresses in them.
TEST(Quick, EqualWordsAtTwoAddresses) {
  const Words words = {0x10000000 /* adr x0, . */, hlt(0)};
  Machine machine = make(Engine::kJit);
  for (const std::uint64_t address : {kOther, kOther + 4 * kPage, kOther}) {
    load(machine, words, address);
    machine.set_pc(address);
    EXPECT_EQ(machine.run(1'000'000).reason, StopReason::kHalt);
    EXPECT_EQ(machine.x(0), address);
  }
}

// A shared page at two addresses of one guest, which jump to each other.
TEST(Quick, OnePageAtTwoAddresses) {
  const Words words = {0x10000000 /* adr x0, . */, 0x8b000063 /* add x3, x3, x0 */, 0xca040002 /* eor x2, x0, x4 */,
                       0xd61f0040 /* br x2 */};
  for (const std::optional<unsigned> threshold : {std::optional<unsigned>(0), std::optional<unsigned>()}) {
    Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit, threshold);
    for (Machine* machine : {&interp, &quick}) {
      ASSERT_TRUE(machine->load_code(bytes_of(words), kOther).ok());
      ASSERT_TRUE(machine->load_code(bytes_of(words), kOther + 4 * kPage).ok());
      machine->set_pc(kOther);
      machine->set_x(4, kOther ^ (kOther + 4 * kPage));
      for (int part = 0; part < 20; ++part) (void)machine->run(1'000'000 + static_cast<unsigned>(part));
    }
    EXPECT_TRUE(quick.registers() == interp.registers());
    EXPECT_EQ(quick.pc(), interp.pc());
  }
}

// A region over two pages replaces the entry of a load that quick code falls into; then the map changes.
TEST(Quick, OperandsOutliveRegions) {
  Options options;
  options.device = Device::kCpu;
  options.code_cache = false;
  options.windows = false;
  for (const Engine engine : {Engine::kInterpreter, Engine::kJit}) {
    options.engine = engine;
    options.jit_threshold = 1;
    auto made = Machine::create(options);
    ASSERT_TRUE(made.ok());
    Machine& machine = *made;
    Words words(1030, kNop);
    words[1020] = ldr_x(5, 6);           // a loop over the page's end; also reached from the word before
    words[1026] = subs_imm(2, 2, 1);
    words[1027] = b_ne(-7);
    words[1028] = hlt(0);
    ASSERT_TRUE(machine.map(kOther, 2 * kPage, kProtectRead | kProtectWrite | kProtectExecute).ok());
    ASSERT_TRUE(machine.write(kOther, bytes_of(words)).ok());
    ASSERT_TRUE(machine.map(kOther + 8 * kPage, kPage, kProtectRead | kProtectWrite).ok());
    const std::uint64_t value = 77;
    for (int round = 0; round < 6; ++round) {
      ASSERT_TRUE(machine.write(kOther + 8 * kPage, std::as_bytes(std::span(&value, 1))).ok());
      ASSERT_TRUE(machine.map(kOther + 16 * kPage, kPage, kProtectRead).ok());  // every change of the map
      machine.set_x(0, 0);
      machine.set_x(5, 0);
      machine.set_x(6, kOther + 8 * kPage);
      machine.set_x(2, 400'000);
      machine.set_pc(kOther);
      ASSERT_EQ(machine.run(100'000'000).reason, StopReason::kHalt);
      EXPECT_EQ(machine.x(5), 77u) << round;
      EXPECT_EQ(machine.x(0), 0u);
    }
  }
}

// A loop that rewrites an instruction of its own page in every round.
TEST(Quick, SelfModifyingCodeIsExact) {
  const Words words = {add_imm(0, 0, 1),
                       0xb9000061 /* str w1, [x3] */,
                       0x11000421 /* add w1, w1, #1 (imm field) */,
                       subs_imm(2, 2, 1),
                       b_ne(-4),
                       hlt(0)};
  Machine interp = make(Engine::kInterpreter), quick = make(Engine::kJit);
  for (Machine* machine : {&interp, &quick}) {
    load(*machine, words, kOther);
    machine->set_x(1, add_imm(0, 0, 5));
    machine->set_x(2, 40);
    machine->set_x(3, kOther);
    machine->set_pc(kOther);
    (void)machine->run(100000);
  }
  EXPECT_TRUE(quick.registers() == interp.registers());
}

// Without a threshold a page is translated when interpreting it has cost as much as that.
TEST(Quick, HotPagesAreTranslated) {
  Machine machine = make(Engine::kJit, std::nullopt);
  load(machine, {subs_imm(2, 2, 1), b_ne(-1), hlt(0)}, kOther);
  machine.set_x(2, 50'000'000);
  machine.set_pc(kOther);
  EXPECT_EQ(machine.run(200'000'000).reason, StopReason::kHalt);
  const std::vector<Tier> tiers = machine.statistics().tiers;
  ASSERT_EQ(tiers.size(), 3u);
  EXPECT_EQ(tiers[1].name, "quick");
  EXPECT_EQ(tiers[1].regions, 1u);
  EXPECT_GT(tiers[1].instructions, tiers[0].instructions);
}

}  // namespace
}  // namespace kvrm
