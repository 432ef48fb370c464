// Quick code asks once whether a base register is an address in the window (stencils/known_bases.h). Straight code that
// loads, stores and moves its bases, entered at every word, against the interpreter.
#include <gtest/gtest.h>

#include <random>

#include "../machine/words.h"
#include "kvrm/machine.h"

namespace kvrm {
namespace {

using namespace test;

constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kData = 0x40000000;
constexpr std::uint64_t kWindowEnd = std::uint64_t{1} << 39;
constexpr unsigned kBases = 4;  // x0 to x3; x4 to x7 are data

Machine make(Engine engine, const Words& words) {
  Options options;
  options.device = Device::kCpu;
  options.engine = engine;
  options.jit_tiers = JitTiers::kQuick;
  options.jit_threshold = 0;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  EXPECT_TRUE(machine->load(bytes_of(words), kCode).ok());
  constexpr std::uint32_t kAll = kProtectRead | kProtectWrite;
  EXPECT_TRUE(machine->map(kData, 2 * kPage, kAll).ok());
  EXPECT_TRUE(machine->map(kWindowEnd - kPage, kPage, kAll).ok());
  return std::move(*machine);
}

std::uint32_t random_word(std::mt19937_64& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const std::uint32_t base = below(kBases), other = below(kBases), data = kBases + below(4);
  switch (below(16)) {
    case 0: return add_imm(base, other, 8 * below(100));
    case 1: return 0xd1000000 | 8 * below(100) << 10 | other << 5 | base;  // sub
    case 2: return 0xaa0003e0 | other << 16 | base;  // mov
    case 3: return 0xf8408400 | base << 5 | data;  // ldr, after it base + 8
    case 4: return 0xf81f8c00 | base << 5 | data;  // str, before it base - 8
    case 5: return 0xa9c10000 | 5 << 10 | base << 5 | 4;  // ldp x4, x5, before it base + 16
    case 6: return 0xb4000040 | data;  // cbz, over the next word
    case 7: return 0x2a0003e0 | other << 16 | base;  // mov of the low half
    case 8: return 0xf9400000 | base << 5 | base;  // a base from memory
    case 9: return 0x8b000000 | data << 16 | other << 5 | base;  // a base and data
    case 10: return 0x3d800000 | base << 5;  // str q0
    case 11: return 0xf8606800 | data << 16 | base << 5 | data;  // ldr with a register offset
    case 12: return 0xf9000000 | below(64) << 10 | base << 5 | data;  // str
    default: return 0xf9400000 | below(64) << 10 | base << 5 | data;  // ldr
  }
}

void compare_from(Machine& interp, Machine& quick, std::uint64_t first, const std::uint64_t (&bases)[kBases]) {
  for (Machine* machine : {&interp, &quick}) {
    for (unsigned i = 0; i < kBases; ++i) machine->set_x(i, bases[i]);
    for (unsigned i = 0; i < 4; ++i) machine->set_x(kBases + i, i * 8);
    machine->set_pc(kCode + first * 4);
  }
  const Stop expected = interp.run(10000), stop = quick.run(10000);
  ASSERT_EQ(stop.reason, expected.reason);
  ASSERT_EQ(stop.pc, expected.pc);
  ASSERT_EQ(stop.instructions, expected.instructions);
  ASSERT_EQ(stop.fault, expected.fault);
  ASSERT_EQ(stop.address, expected.address);
  ASSERT_TRUE(quick.registers() == interp.registers());
}

TEST(KnownBases, EveryEntryAndEveryKindOfAddress) {
  std::mt19937_64 random(11);
  const std::uint64_t tag = std::uint64_t{0x5a} << 56, high = ~std::uint64_t{0} << 48;
  const std::uint64_t addresses[] = {kData + 64,      kData + kPage,  kData + 2 * kPage - 64,
                                     tag | kData,     kData | high,   kWindowEnd - 2048,
                                     kWindowEnd - 16, kWindowEnd + 8, 8};
  for (int round = 0; round < 60; ++round) {
    Words words;
    for (int i = 0; i < 24; ++i) words.push_back(random_word(random));
    words.push_back(kNop);
    words.push_back(hlt(0));
    Machine interp = make(Engine::kInterpreter, words), quick = make(Engine::kJit, words);
    for (std::uint64_t first = 0; first + 2 < words.size(); ++first) {
      std::uint64_t bases[kBases];
      // Mostly good ones, or the first access ends the run.
      for (std::uint64_t& base : bases) base = addresses[random() % 4 ? random() % 3 : random() % std::size(addresses)];
      compare_from(interp, quick, first, bases);
      if (HasFatalFailure()) FAIL() << "round " << round << " word " << first;
    }
    std::vector<std::byte> one(2 * kPage), two(2 * kPage);
    ASSERT_TRUE(interp.read(kData, one).ok() && quick.read(kData, two).ok());
    ASSERT_EQ(one, two) << "round " << round;
  }
}

// A base that is in the window once, and goes farther from it than guard space reaches, in steps that are known.
TEST(KnownBases, ManyStepsLeaveTheWindow) {
  for (const std::uint32_t step : {0x917ffc00u, 0xd17ffc00u}) {  // add, sub x0, x0, #0xfff000
    for (const unsigned steps : {1u, 60u, 70u, 300u, 700u}) {
      Words words{ldr_x(4, 0)};
      for (unsigned i = 0; i < steps; ++i) words.push_back(step);
      words.push_back(ldr_x(5, 0));
      words.push_back(hlt(0));
      Machine interp = make(Engine::kInterpreter, words), quick = make(Engine::kJit, words);
      for (const std::uint64_t base : {kData, kWindowEnd - 64}) {
        compare_from(interp, quick, 0, {base, base, base, base});
        if (HasFatalFailure()) FAIL() << steps << " steps from " << base;
      }
    }
  }
}

}  // namespace
}  // namespace kvrm
