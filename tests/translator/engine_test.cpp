// The translator against the interpreter on the same machine code: budgets, faults, self-modifying code, cancel.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <random>
#include <thread>

#include "pair.h"

namespace kvrm {
namespace {

using namespace test;

// Two loops, a call, loads and stores: x0 sums, x2 counts.
const Words kProgram = {
    ldr_post(3, 1),     // +0   again
    add_reg(0, 0, 3),   // +4
    bl(8),              // +8   to +40
    str_post(0, 4),     // +12
    subs_imm(2, 2, 1),  // +16
    b_ne(-5),           // +20
    movz(2, 200),       // +24
    kNop,               // +28
    kNop,               // +32
    b(-9),              // +36  to +0
    movz(5, 3),         // +40  the function
    eor_reg(0, 0, 5),   // +44
    subs_imm(5, 5, 1),  // +48
    b_ne(-2),           // +52
    kRet,               // +56
};

TEST(TranslatedCode, EveryBudgetStopsWhereTheInterpreterDoes) {
  Pair pair(kProgram);
  pair.both([](Machine& machine) {
    machine.set_x(1, kData);
    machine.set_x(2, 100);
    machine.set_x(4, kData + 0x1000);
  });
  std::mt19937 random(1);
  for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
    // Below, at and above the budget that a region needs to start.
    const std::uint64_t budgets[] = {1 + random() % 20, 1000 + random() % 100, 2040 + random() % 40,
                                     2100 + random() % 3000};
    const Stop stop = pair.run(budgets[random() % 4]);
    pair.both([](Machine& machine) {
      machine.set_x(1, kData);
      machine.set_x(4, kData + 0x1000);
    });
    EXPECT_EQ(stop.reason, StopReason::kBudget);
  }
  EXPECT_GT(pair.jit().statistics().regions, 0u);
}

// Traces, regions and bursts alternate: a trace runs instructions like any others.
TEST_F(SampledCode, StopsWhereTheInterpreterDoes) {
  Pair pair(kProgram, 1);
  const auto reset = [](Machine& machine) {
    machine.set_x(1, kData);
    machine.set_x(2, 100);
    machine.set_x(4, kData + 0x1000);
  };
  pair.both(reset);
  std::mt19937 random(1);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    const std::uint64_t budgets[] = {1 + random() % 40, 8192 + random() % 64, 2040 + random() % 40};
    (void)pair.run(budgets[random() % 3]);
    pair.both(reset);
  }
  EXPECT_GT(pair.jit().statistics().regions, 0u);
  const std::vector<Tier> tiers = pair.jit().statistics().tiers;
  ASSERT_EQ(tiers.size(), 3u);
  EXPECT_EQ(tiers[0].instructions + tiers[1].instructions + tiers[2].instructions,
            pair.jit().statistics().instructions);
  EXPECT_GT(tiers[2].instructions, 0u);
  EXPECT_GE(tiers[2].words, tiers[2].distinct_words);
}

// A trace runs stores into code with regions, exclusives, and at last a fault.
TEST_F(SampledCode, MayModifyItselfAndFault) {
  const Words words = {
      str_w(2, 3),          // +0   changes +16
      0xc85f7d27,           // +4   ldxr x7, [x9]
      0x910004e7,           // +8   add x7, x7, #1
      0xc8087d27,           // +12  stxr w8, x7, [x9]
      add_imm(0, 0, 1),     // +16
      subs_imm(5, 5, 1),    // +20
      b_ne(-5),             // +24  to +4
      0xd1000484,           // +28  sub x4, x4, #1
      movz(5, 20000),       // +32
      0xb5fffee4,           // +36  cbnz x4, +0
      ldr_x(0, 31 & 0x1e),  // +40  ldr x0, [x30]: nothing is mapped there
  };
  Pair pair(words, 1);
  pair.both([](Machine& machine) {
    machine.set_x(2, add_imm(0, 0, 3));
    machine.set_x(3, kCode + 16);
    machine.set_x(4, 12);
    machine.set_x(5, 20000);
    machine.set_x(9, kData);
    machine.set_x(30, 0x123456000);
  });
  EXPECT_EQ(pair.run().reason, StopReason::kFault);
  EXPECT_GT(pair.jit().statistics().regions, 0u);
}

// Lanes of one machine run each other's regions.
TEST_F(SampledCode, IsSharedByLanes) {
  for (const Engine engine : {Engine::kJit, Engine::kAuto}) {
    Options options;
    options.device = Device::kCpu;
    options.engine = engine;
    options.jit_threshold = 1;
    options.lanes = 4;
    options.threads = 1;
    auto machine = Machine::create(options);
    ASSERT_TRUE(machine.ok());
    for (unsigned lane = 0; lane < 4; ++lane) {
      ASSERT_TRUE(
          machine->lane(lane).load(bytes_of({add_imm(0, 0, 1), subs_imm(2, 2, 1), b_ne(-2), hlt(0)}), kCode).ok());
      machine->lane(lane).set_pc(kCode);
      machine->lane(lane).set_x(2, 40'000'000);
    }
    for (int part = 0; part < 50; ++part) (void)machine->run_all(2'000'000);
    const std::vector<Tier> tiers = machine->statistics().tiers;
    EXPECT_GT(tiers[2].instructions, machine->statistics().instructions / 2) << "all four lanes";
  }
}

// Every condition after every kind of compare, in a branch and in CSEL, on pairs of numbers around all limits; with two
// variable operands, and with a constant.
TEST(TranslatedCode, ConditionsOfComparesAreExact) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63, kTop32 = std::uint64_t{1} << 31;
  const std::uint64_t numbers[] = {
      0,          1,          92,     4095,        kTop - 1,   kTop,           kTop + 92,       ~0ull,
      ~0ull - 91, kTop32 - 1, kTop32, kTop32 + 92, 2 * kTop32, 2 * kTop32 - 1, 2 * kTop32 - 92, kTop + kTop32};
  constexpr unsigned kPairs = std::size(numbers) * std::size(numbers);
  const auto b_if = [](unsigned condition, unsigned words) { return 0x54000000 | words << 5 | condition; };
  const auto csel = [](unsigned rd, unsigned rn, unsigned rm, unsigned condition) {
    return 0x9a800000 | rm << 16 | condition << 12 | rn << 5 | rd;
  };
  const std::pair<const char*, Words> compares[] = {
      {"cmp x0, x6", {0xeb06001f}},
      {"cmp w0, w6", {0x6b06001f}},
      {"cmn x0, x6", {0xab06001f}},
      {"cmn w0, w6", {0x2b06001f}},
      {"subs x7, x0, x6", {0xeb060007}},
      {"adds w7, w0, w6", {0x2b060007}},
      {"cmp x0, #92", {0xf101701f}},
      {"cmp w0, #92", {0x7101701f}},
      {"cmn x0, #92", {0xb101701f}},
      {"cmp w0, #0", {0x7100001f}},
      {"cmn w0, #4095", {0x313ffc1f}},
      {"cmp x0, -1", {0x92800006, 0xeb06001f}},
      {"cmp w0, -1", {0x12800006, 0x6b06001f}},
      {"cmp x0, the smallest", {0xd2f00006, 0xeb06001f}},
      {"cmp w0, the smallest", {0x52b00006, 0x6b06001f}},
      {"cmn w0, the smallest", {0x52b00006, 0x2b06001f}},
  };
  for (const auto& [name, compare] : compares) {
    SCOPED_TRACE(name);
    Words words = {ldr_post(0, 1), ldr_post(6, 1)};
    for (unsigned condition = 0; condition < 14; ++condition) {
      words.push_back(add_reg(4, 4, 4));
      words.insert(words.end(), compare.begin(), compare.end());
      words.insert(words.end(), {b_if(condition, 2), eor_reg(4, 4, 9), csel(3, 9, 1, condition), add_reg(5, 5, 5)});
      words.push_back(eor_reg(5, 5, 3));
    }
    words.insert(words.end(), {str_post(4, 8), str_post(5, 8), subs_imm(2, 2, 1)});
    words.insert(words.end(), {b_ne(-static_cast<int>(words.size())), hlt(0)});
    Pair pair(words);
    pair.both([&](Machine& machine) {
      std::vector<std::uint64_t> table;
      for (const std::uint64_t a : numbers)
        for (const std::uint64_t b : numbers) table.insert(table.end(), {a, b});
      EXPECT_TRUE(machine.write(kData, std::as_bytes(std::span(table))).ok());
      machine.set_x(1, kData);
      machine.set_x(2, kPairs);
      machine.set_x(8, kData + 0x1000);
      machine.set_x(9, 1);
    });
    while (pair.run(7001).reason == StopReason::kBudget && !HasFailure()) continue;
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(pair.jit().statistics().regions, 0u);
  }
}

TEST(TranslatedCode, FaultsArePrecise) {
  Pair pair({ldr_post(3, 1), add_reg(0, 0, 3), str_post(0, 4), subs_imm(2, 2, 1), b_ne(-4), hlt(0)});
  pair.both([](Machine& machine) {
    machine.set_x(1, kData);
    machine.set_x(4, kData + 0x1000);  // its page ends first
    machine.set_x(2, 100000);
  });
  const Stop stop = pair.run();
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_TRUE(stop.fault_is_write);
  EXPECT_EQ(stop.pc, kCode + 8);
  // The program continues when the page is mapped.
  pair.both(
      [](Machine& machine) { EXPECT_TRUE(machine.map(kData + 0x2000, 0x1000, kProtectRead | kProtectWrite).ok()); });
  EXPECT_EQ(pair.run().reason, StopReason::kFault);
}

// Accesses that share a TLB lookup: in one page, in two, in a page that a store between them makes private, and up to
// where the last of them faults first.
TEST(TranslatedCode, AccessesThroughOneRegisterAreExact) {
  for (const std::uint64_t start : {0u, 4u, 1u, 13u}) {
    Pair pair({ldr_at(3, 1, 0), ldr_at(5, 1, 2), str_at(2, 1, 1), ldr_at(6, 1, 1), str_at(6, 1, 2), ldr_at(7, 1, 2),
               add_reg(0, 0, 3), add_reg(0, 0, 5), add_reg(0, 0, 6), add_reg(0, 0, 7), add_imm(1, 1, 20),
               subs_imm(2, 2, 1), b_ne(-12), hlt(0)});
    pair.both([&](Machine& machine) {
      machine.set_x(1, kData + start);
      machine.set_x(2, 100000);
    });
    const Stop stop = pair.run();
    EXPECT_EQ(stop.reason, StopReason::kFault);
    EXPECT_FALSE(stop.fault_is_write);
    EXPECT_EQ(stop.pc, kCode + 4);
    EXPECT_GE(stop.address, kData + 0x2000);
  }
}

// Offsets from one register so large that their sums overflow: the first access, at the end of what is mapped, needs a
// lookup of its own.
TEST(TranslatedCode, AccessesFarApartAreExact) {
  for (const std::uint32_t first : {0xf86168a3u /* ldr x3, [x5, x1] */, 0xf82168a3u /* str x3, [x5, x1] */}) {
    Pair pair({0x92f00001,  // mov x1, #0x7fffffffffffffff
               0xd1001821,  // sub x1, x1, #6
               0xd1400422,  // sub x2, x1, #4096
               first,
               0xf86268a8,  // ldr x8, [x5, x2]
               add_imm(5, 5, 8), subs_imm(4, 4, 1), b_ne(-7), hlt(0)});
    pair.both([](Machine& machine) {
      machine.set_x(4, 1000);
      machine.set_x(5, kData + 0x2000 - 200 - 0x7ffffffffffffff9);
    });
    const Stop stop = pair.run();
    EXPECT_EQ(stop.reason, StopReason::kFault);
    EXPECT_EQ(stop.pc, kCode + 12);
    EXPECT_EQ(stop.address, kData + 0x2000);
  }
}

// A chain of loads through pages with several host addends: here, at the other end of the space, and, when the mapping
// has changed, a page of zeros that the chain's stores make private.
TEST(TranslatedCode, AChainThroughPagesWithSeveralHostAddendsIsExact) {
  constexpr std::uint64_t kFar = 0x7000'0000'0000;
  Pair pair({ldr_at(3, 1, 1), add_reg(0, 0, 3), str_at(2, 1, 2), ldr_at(1, 1, 0), subs_imm(2, 2, 1), b_ne(-5), hlt(0)});
  const auto put = [](Machine& machine, std::uint64_t at, std::uint64_t value) {
    EXPECT_TRUE(machine.write(at, std::as_bytes(std::span(&value, 1))).ok());
  };
  pair.both([&](Machine& machine) {
    EXPECT_TRUE(machine.map(kFar, 0x3000, kProtectRead | kProtectWrite).ok());
    EXPECT_TRUE(machine.map(0, 0x1000, kProtectRead | kProtectWrite).ok());  // zeros, which point to themselves
    const std::uint64_t addresses[] = {kData, kFar + 0x2000, kData + 0x1fe8, kFar, kData + 0x100, kFar + 0x2100};
    for (std::size_t i = 0; i < std::size(addresses); ++i) {
      put(machine, addresses[i], addresses[(i + 1) % std::size(addresses)]);
      put(machine, addresses[i] + 8, i + 1);
    }
    machine.set_x(1, kData);
    machine.set_x(2, 5000);
  });
  EXPECT_EQ(pair.run(3000).reason, StopReason::kBudget);
  pair.both([&](Machine& machine) {
    EXPECT_TRUE(machine.unmap(kFar, 0x1000).ok());
    EXPECT_TRUE(machine.map(kFar, 0x1000, kProtectRead | kProtectWrite).ok());
  });
  EXPECT_EQ(pair.run().reason, StopReason::kHalt);
  EXPECT_GT(pair.jit().statistics().regions, 0u);
}

// Every store of an iteration changes the code that runs.
TEST(TranslatedCode, StoresThroughOneRegisterMayChangeCode) {
  Pair pair({str_at(2, 3, 0), str_at(2, 3, 1), str_at(2, 3, 2), add_imm(0, 0, 1), kNop, kNop, subs_imm(4, 4, 1),
             b_ne(-7), hlt(0)});
  pair.both([](Machine& machine) {
    machine.set_x(2, std::uint64_t{add_imm(0, 0, 3)} << 32 | add_imm(0, 0, 5));
    machine.set_x(3, kCode);
    machine.set_x(4, 60);
  });
  (void)pair.run(1000);
}

TEST(TranslatedCode, ALoopMayRewriteItself) {
  Pair pair({str_w(2, 3), add_imm(2, 2, 1024), kNop, subs_imm(4, 4, 1), b_ne(-4), hlt(0)});
  pair.both([](Machine& machine) {
    machine.set_x(2, add_imm(0, 0, 1));
    machine.set_x(3, kCode + 8);
    machine.set_x(4, 60);
  });
  EXPECT_EQ(pair.run().reason, StopReason::kHalt);
  EXPECT_EQ(pair.jit().x(0), 60u * 61 / 2);
}

TEST(TranslatedCode, AStoreMayChangeAnotherPageOfTheRegion) {
  // The loop crosses the end of its page and changes a word after it.
  Words words(1022, kNop);
  words.insert(words.end(), {str_w(6, 3), add_imm(0, 0, 1), add_imm(0, 0, 1), subs_imm(4, 4, 1), b_ne(-4), hlt(0)});
  Pair pair(words);
  pair.both([](Machine& machine) {
    machine.set_pc(kCode + 1022 * 4);
    machine.set_x(6, add_imm(0, 0, 5));
    machine.set_x(3, kCode + 1024 * 4);
    machine.set_x(4, 50);
  });
  EXPECT_EQ(pair.run().reason, StopReason::kHalt);
  EXPECT_EQ(pair.jit().x(0), 50u * 6);
}

TEST(TranslatedCode, RemappedPagesRunTheirNewCode) {
  Pair pair({add_imm(0, 0, 1), subs_imm(4, 4, 1), b_ne(-2), hlt(0)});
  for (unsigned step = 1; step < 4; ++step) {
    const Words words = {add_imm(0, 0, step), subs_imm(4, 4, 1), b_ne(-2), hlt(0)};
    pair.both([&](Machine& machine) {
      EXPECT_TRUE(machine.unmap(kCode, 0x1000).ok());
      EXPECT_TRUE(machine.load(bytes_of(words), kCode).ok());
      machine.set_pc(kCode);
      machine.set_x(0, 0);
      machine.set_x(4, 5000);
    });
    EXPECT_EQ(pair.run().reason, StopReason::kHalt);
    EXPECT_EQ(pair.jit().x(0), 5000u * step);
  }
}

// Regions that call each other through registers, in two pages: exits that look up a page themselves.
TEST(TranslatedCode, RegionsInSeveralPagesCallEachOther) {
  constexpr std::uint32_t kBlrX9 = 0xd63f0000 | 9 << 5;
  Words words = {kBlrX9, subs_imm(2, 2, 1), b_ne(-2), b(1024 - 3 + 2)};
  words.resize(1024, kNop);
  words.insert(words.end(), {add_imm(0, 0, 3), kRet, add_imm(0, 0, 1), movz(2, 50), b(-1028)});
  Pair pair(words);
  pair.both([](Machine& machine) {
    machine.set_x(2, 50);
    machine.set_x(9, kCode + 0x1000);
  });
  std::mt19937 random(1);
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) {
    EXPECT_EQ(pair.run(i % 2 ? 1 + random() % 20 : 2040 + random() % 3000).reason, StopReason::kBudget);
  }
  EXPECT_GT(pair.jit().statistics().regions, 1u);
  pair.both([](Machine& machine) {
    const Words other = {add_imm(0, 0, 5)};
    EXPECT_TRUE(machine.load(bytes_of(other), kCode + 0x1000).ok());
  });
  EXPECT_EQ(pair.run(10000).reason, StopReason::kBudget);
  // Not an address.
  pair.both([](Machine& machine) { machine.set_x(9, kCode + 0x1002); });
  EXPECT_EQ(pair.run(10000).reason, StopReason::kFault);
}

TEST(TranslatedCode, CancelEndsALoop) {
  for (const Engine engine : {Engine::kJit, Engine::kAuto}) {
    Machine machine = make(engine, {add_imm(0, 0, 1), b(-1)});
    machine.start();
    while (machine.poll().instructions == 0) std::this_thread::yield();
    machine.cancel();
    EXPECT_EQ(machine.wait().front().reason, StopReason::kCancelled);
  }
}

// Every load of the loop must read memory again.
TEST(TranslatedCode, ALaneSeesWhatAnotherStores) {
  Options options;
  options.device = Device::kCpu;
  options.engine = Engine::kJit;
  options.jit_threshold = 0;
  options.lanes = 2;
  options.shared_memory = true;
  auto machine = Machine::create(options);
  ASSERT_TRUE(machine.ok());
  // ldr x1, [x0]; cbz x1, back; hlt     and     subs x2, x2, #1; b.ne back; str w3, [x0]; hlt
  ASSERT_TRUE(
      machine
          ->load(bytes_of({ldr_x(1, 0), 0xb4ffffe1, hlt(0), kNop, subs_imm(2, 2, 1), b_ne(-1), str_w(3, 0), hlt(0)}),
                 kCode)
          .ok());
  ASSERT_TRUE(machine->map(kData, 0x1000, kProtectRead | kProtectWrite).ok());
  machine->lane(0).set_pc(kCode);
  machine->lane(1).set_pc(kCode + 16);
  for (unsigned lane = 0; lane < 2; ++lane) machine->lane(lane).set_x(0, kData);
  machine->lane(1).set_x(2, 3'000'000);
  machine->lane(1).set_x(3, 7);
  for (const Stop& stop : machine->run_all()) EXPECT_EQ(stop.reason, StopReason::kHalt);
  EXPECT_EQ(machine->lane(0).x(1), 7u);
  EXPECT_GT(machine->statistics().regions, 0u);
}

// Runs one access with fixed registers and memory, and returns everything it may have changed.
std::string result_of_access(Machine& machine, std::uint64_t address) {
  std::vector<std::byte> bytes(0x2000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  EXPECT_TRUE(machine.write(kData, bytes).ok());
  Registers registers = machine.registers();
  for (unsigned i = 0; i < 8; ++i) registers.x[i] = 0x0123456789abcdef * (i + 1);
  for (unsigned i = 0; i < 8; ++i) registers.v[i] = {0x1111111111111111u * i, ~std::uint64_t{i}};
  registers.x[9] = address;
  registers.pc = kCode;
  machine.set_registers(registers);
  const Stop stop = machine.run();
  registers = machine.registers();
  std::string found = to_string(stop.reason);
  for (const std::uint64_t number : {stop.pc, stop.address, std::uint64_t(stop.fault), stop.instructions})
    found += " " + std::to_string(number);
  for (unsigned i = 0; i < 8; ++i) {
    found += " " + std::to_string(registers.x[i]) + " " + std::to_string(registers.v[i].lo) + " " +
             std::to_string(registers.v[i].hi);
  }
  for (const std::uint64_t from : {kData, kData + 0x1000, kCode}) {
    EXPECT_TRUE(machine.read(from, std::span(bytes).first(0x1000)).ok());
    found.append(reinterpret_cast<const char*>(bytes.data()), 0x1000);
  }
  return found;
}

// Every size, aligned or not, within a page, across pages, and where it may not be.
TEST(TranslatedCode, AccessesToSharedMemoryAreExact) {
  // Loads and stores of x0 to x3 and q0 to q3 at [x9]: ldrb, ldrh, ldr w, ldr x, ldp w, ldp x, ldr q, ldp q, ld1 of
  // four; the same stores; cas of 1, 4, 8 and 16 bytes; ldadd; ldxr and stxr.
  const Words accesses = {0x39400120, 0x79400120, 0xb9400120, 0xf9400120, 0x29400520, 0xa9400520, 0x3dc00120,
                          0xad400520, 0x4c402120, 0x39000121, 0x79000121, 0xb9000121, 0xf9000121, 0x29000921,
                          0xa9000921, 0x3d800121, 0xad000921, 0x4c002120, 0x08a07d21, 0x88a07d21, 0xc8a07d21,
                          0x48207d22, 0xf8200121, 0xc85f7d20, 0xc8027d21};
  for (const std::uint32_t access : accesses) {
    // Twice: the second access hits the TLB.
    const Words words = {access, access, hlt(0)};
    Machine interp = make(Engine::kInterpreter, words, true), jit = make(Engine::kJit, words, true);
    for (Machine* machine : {&interp, &jit}) ASSERT_TRUE(machine->map(kData + 0x2000, 0x1000, kProtectRead).ok());
    // In a page, at the ends of pages, with a tag above the address, and in the page of the code, which may be written.
    const std::uint64_t tagged = std::uint64_t{0xab} << 56, in_code = kCode + 0x100 - kData;
    for (const std::uint64_t start :
         {std::uint64_t{0x800}, std::uint64_t{0xfc0}, std::uint64_t{0x1fc0}, tagged + 0x20, in_code}) {
      for (std::uint64_t offset = start; offset < start + 0x50; ++offset) {
        EXPECT_TRUE(result_of_access(jit, kData + offset) == result_of_access(interp, kData + offset))
            << std::hex << access << " at " << offset;
      }
    }
    EXPECT_GT(jit.statistics().regions, 0u);
  }
}

// Arithmetic in a loop, before anything was inexact, in the default FP mode and with another rounding.
TEST(TranslatedCode, FloatingPointIsExactInEveryMode) {
  // fadd d0, d0, d1; fmul d2, d0, d1; fdiv d3, d2, d0; fmul v4.2d, v0.2d, v1.2d; subs; b.ne; hlt
  const Words words = {0x1e612800, 0x1e610802, 0x1e601843, 0x6e61dc04, subs_imm(2, 2, 1), b_ne(-5), hlt(0)};
  for (const std::uint32_t fpcr : {0u, 0x00400000u, 0x01000000u}) {
    Pair pair(words);
    for (const double step : {1.0, 0.1, 1e300, 5e-324}) {
      pair.both([&](Machine& machine) {
        Registers registers = machine.registers();
        registers.fpcr = fpcr;
        registers.v[0] = {};
        registers.v[1] = {std::bit_cast<std::uint64_t>(step), std::bit_cast<std::uint64_t>(step)};
        registers.x[2] = 2000;
        registers.pc = kCode;
        machine.set_registers(registers);
      });
      EXPECT_EQ(pair.run().reason, StopReason::kHalt);
    }
  }
}

TEST(TranslatedCode, NoBudgetForCompilingMeansTheInterpreter) {
  Options options;
  options.device = Device::kCpu;
  options.engine = Engine::kJit;
  options.jit_threshold = 0;
  options.jit_budget = -1.0;
  auto machine = Machine::create(options);
  ASSERT_TRUE(machine.ok());
  ASSERT_TRUE(machine->load(bytes_of({movz(0, 7), hlt(0)}), kCode).ok());
  machine->set_pc(kCode);
  EXPECT_EQ(machine->run().reason, StopReason::kHalt);
  EXPECT_EQ(machine->x(0), 7u);
  EXPECT_EQ(machine->statistics().regions, 0u);
}

}  // namespace
}  // namespace kvrm
