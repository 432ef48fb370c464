// Translated code of both tiers that accesses windows against the interpreter: every form of access at every border,
// with the whole state. Quick code without a window is compared, too.
#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <thread>
#include <vector>

#include "../machine/words.h"
#include "kvrm/machine.h"

namespace kvrm {
namespace {

using namespace test;

constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kData = 0x40000000;  // kPages pages, each with its own protection
constexpr std::uint64_t kPages = 8;
constexpr std::uint64_t kWindowEnd = std::uint64_t{1} << 39;

Machine make(Engine engine, const Words& words, std::uint64_t memory_limit, JitTiers tiers = JitTiers::kAll,
             bool windows = true) {
  Options options;
  options.device = Device::kCpu;
  options.engine = engine;
  options.jit_tiers = tiers;
  options.windows = windows;
  options.jit_threshold = 0;
  options.memory_limit = memory_limit;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  EXPECT_TRUE(machine->load(bytes_of(words), kCode).ok());
  machine->set_pc(kCode);
  return std::move(*machine);
}

class Engines {
 public:
  explicit Engines(const Words& words, std::uint64_t limit = std::uint64_t{64} << 20)
      : interp_(make(Engine::kInterpreter, words, limit)) {
    translated_.push_back(make(Engine::kJit, words, limit, JitTiers::kRegions));
    translated_.push_back(make(Engine::kJit, words, limit, JitTiers::kQuick));
    translated_.push_back(make(Engine::kJit, words, limit, JitTiers::kQuick, false));
  }
  template <class Change>
  void all(Change change) {
    change(interp_);
    for (Machine& machine : translated_) change(machine);
  }
  Stop run(std::uint64_t budget = 100000) {
    const Stop expected = interp_.run(budget);
    for (Machine& machine : translated_) {
      const Stop stop = machine.run(budget);
      EXPECT_EQ(to_string(stop.reason), std::string(to_string(expected.reason)));
      EXPECT_EQ(stop.pc, expected.pc);
      EXPECT_EQ(stop.instructions, expected.instructions);
      EXPECT_EQ(stop.fault, expected.fault);
      EXPECT_EQ(stop.fault_is_write, expected.fault_is_write);
      EXPECT_EQ(stop.address, expected.address);
      EXPECT_TRUE(machine.registers() == interp_.registers());
      EXPECT_EQ(machine.statistics().private_bytes, interp_.statistics().private_bytes);
    }
    return expected;
  }
  void compare(std::uint64_t address, std::uint64_t size) {
    std::vector<std::byte> one(size), other(size);
    const bool readable = interp_.read(address, one).ok();
    for (Machine& machine : translated_) {
      EXPECT_EQ(machine.read(address, other).ok(), readable);
      EXPECT_EQ(one, other);
    }
  }
  Machine& interp() { return interp_; }

 private:
  Machine interp_;
  std::vector<Machine> translated_;
};

// Accesses through x1; x2 is an offset, x3 to x6 and v0 to v3 are data.
const Words kAccesses = {
    0x39400023,  // ldrb w3, [x1]
    0x79400023,  // ldrh w3, [x1]
    0xb9400023,  // ldr w3, [x1]
    0xf9400023,  // ldr x3, [x1]
    0x39800023,  // ldrsb x3, [x1]
    0x79c00023,  // ldrsh w3, [x1]
    0xb9800023,  // ldrsw x3, [x1]
    0xf8408423,  // ldr x3, [x1], #8
    0xf85f8c23,  // ldr x3, [x1, #-8]!
    0xf9400021,  // ldr x1, [x1]
    0xf8626823,  // ldr x3, [x1, x2]
    0xa9400c24,  // ldp x4, x3, [x1]
    0xa9c10c24,  // ldp x4, x3, [x1, #16]!
    0x29400c24,  // ldp w4, w3, [x1]
    0x69400c24,  // ldpsw x4, x3, [x1]
    0x3dc00020,  // ldr q0, [x1]
    0xfd400020,  // ldr d0, [x1]
    0xbd400020,  // ldr s0, [x1]
    0x7d400020,  // ldr h0, [x1]
    0x3d400020,  // ldr b0, [x1]
    0xad400420,  // ldp q0, q1, [x1]
    0x6d400420,  // ldp d0, d1, [x1]
    0x4c407020,  // ld1 {v0.16b}, [x1]
    0x4c402020,  // ld1 {v0.16b - v3.16b}, [x1]
    0x4c400020,  // ld4 {v0.16b - v3.16b}, [x1]
    0x4c404020,  // ld3 {v0.16b - v2.16b}, [x1]
    0x39000023,  // strb w3, [x1]
    0x79000023,  // strh w3, [x1]
    0xb9000023,  // str w3, [x1]
    0xf9000023,  // str x3, [x1]
    0xf8008423,  // str x3, [x1], #8
    0xf81f8c23,  // str x3, [x1, #-8]!
    0xf8226823,  // str x3, [x1, x2]
    0xa9000c24,  // stp x4, x3, [x1]
    0xa9bf0c24,  // stp x4, x3, [x1, #-16]!
    0x29000c24,  // stp w4, w3, [x1]
    0x3d800020,  // str q0, [x1]
    0xfd000020,  // str d0, [x1]
    0xbd000020,  // str s0, [x1]
    0xad000420,  // stp q0, q1, [x1]
    0x6d000420,  // stp d0, d1, [x1]
    0x4c007020,  // st1 {v0.16b}, [x1]
    0x4c002020,  // st1 {v0.16b - v3.16b}, [x1]
    0x4c000020,  // st4 {v0.16b - v3.16b}, [x1]
    0x4c004020,  // st3 {v0.16b - v2.16b}, [x1]
    0xd50b7421,  // dc zva, x1
    0xf8e30024,  // ldaddal x3, x4, [x1]
    0xc8e37c24,  // casa x3, x4, [x1]
    0xc85f7c23,  // ldxr x3, [x1]
};

void set_up(Machine& machine, std::uint64_t address, std::uint64_t offset) {
  const std::uint32_t protections[kPages] = {kProtectRead | kProtectWrite,
                                             kProtectRead | kProtectWrite,
                                             kProtectRead,
                                             0,
                                             kProtectWrite,
                                             kProtectRead | kProtectWrite,
                                             kProtectRead | kProtectWrite,
                                             0};
  for (std::uint64_t page = 0; page < kPages; ++page) {
    if (page == 7) continue;  // nothing is mapped there
    EXPECT_TRUE(machine.map(kData + page * kPage, kPage, protections[page]).ok());
  }
  std::vector<std::byte> bytes(2 * kPage);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 7 + i / 256);
  EXPECT_TRUE(machine.write(kData, bytes).ok());
  for (unsigned i = 3; i < 7; ++i) machine.set_x(i, 0x1122334455667788 * i);
  machine.set_x(1, address);
  machine.set_x(2, offset);
  machine.set_pc(kCode);
}

TEST(Windows, EveryAccessAtEveryBorder) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t page = 0; page <= kPages; ++page)
    for (const std::uint64_t before : {0u, 1u, 4u, 8u, 12u, 16u, 24u, 32u, 63u})
      addresses.push_back(kData + page * kPage - before);
  addresses.push_back(std::uint64_t{0x5a} << 56 | kData);       // a tag
  addresses.push_back(std::uint64_t{0xff} << 56 | (kData + 2 * kPage));
  for (const std::uint64_t end : {kWindowEnd, 2 * kWindowEnd, std::uint64_t{1} << 48, std::uint64_t{0}})
    for (const std::uint64_t before : {0u, 1u, 8u, 16u, 64u}) addresses.push_back(end - before);
  for (const std::uint32_t access : kAccesses) {
    // The state before the access, and an access after it that shares its exit.
    Engines engines({add_imm(5, 5, 1), access, add_imm(6, 6, 3), hlt(0)});
    for (const std::uint64_t address : addresses) {
      engines.all([&](Machine& machine) { set_up(machine, address, 0); });
      engines.run();
      for (const std::uint64_t page : {0u, 1u, 5u, 6u}) engines.compare(kData + page * kPage, kPage);
      if (HasFailure()) FAIL() << std::hex << "word " << access << " at " << address;
    }
  }
}

// A register offset that leaves the window, a base outside it that comes back in.
TEST(Windows, SumsAreChecked) {
  Engines engines({0xf8626823, add_imm(5, 5, 1), 0xf8226823, hlt(0)});  // ldr x3, [x1, x2]; str x3, [x1, x2]
  const std::pair<std::uint64_t, std::uint64_t> sums[] = {
      {kData, 8},          {kData + kPage, ~std::uint64_t{7}},
      {0, kData},          {~std::uint64_t{0} - 7, kData + 8},
      {kData, kWindowEnd}, {kWindowEnd + kData, std::uint64_t{0} - kWindowEnd},
      {kWindowEnd - 8, 8}, {8, kWindowEnd - 16}};
  for (const auto& [base, offset] : sums) {
    engines.all([&](Machine& machine) { set_up(machine, base, offset); });
    engines.run();
    engines.compare(kData, 2 * kPage);
    if (HasFailure()) FAIL() << std::hex << base << " + " << offset;
  }
}

// Straight code of many loads and stores in every order: they share exits, and each may be the one that faults.
TEST(Windows, SegmentsBeginAgain) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    Words words;
    for (int i = 0; i < 16; ++i) {
      const unsigned base = 1 + static_cast<unsigned>(random() % 2), data = 3 + static_cast<unsigned>(random() % 4);
      const unsigned slot = static_cast<unsigned>(random() % 64);
      switch (random() % 6) {
        case 0: words.push_back(0xf9000000 | slot << 10 | base << 5 | data); break;
        case 1: words.push_back(add_imm(data, data, slot)); break;
        case 2: words.push_back(add_imm(base, base, slot * 8)); break;
        case 3: words.push_back(0xa9400000 | (slot % 32) << 15 | 3 << 10 | base << 5 | 4); break;  // ldp x4, x3
        default: words.push_back(0xf9400000 | slot << 10 | base << 5 | data); break;
      }
    }
    words.push_back(hlt(0));
    Engines engines(words);
    for (int place = 0; place < 24; ++place) {
      const std::uint64_t one = kData + random() % (kPages * kPage), other = kData + random() % (2 * kPage);
      engines.all([&](Machine& machine) { set_up(machine, one & ~std::uint64_t{7}, other & ~std::uint64_t{7}); });
      engines.run();
      for (const std::uint64_t page : {0u, 1u, 5u, 6u}) engines.compare(kData + page * kPage, kPage);
      if (HasFailure()) FAIL() << "round " << round << " place " << place;
    }
  }
}

// A loop that touches a page a round until the limit strikes: at the same page.
TEST(Windows, TheMemoryLimitStrikesAtTheSamePage) {
  for (const std::uint64_t pages : {1u, 5u, 100u}) {
    Engines engines({0xf9000023, 0x91400421, subs_imm(2, 2, 1), b_ne(-3), hlt(0)}, pages * kPage);  // add x1, x1, #4096
    engines.all([&](Machine& machine) {
      EXPECT_TRUE(machine.map(kData, 1000 * kPage, kProtectRead | kProtectWrite).ok());
      machine.set_x(1, kData);
      machine.set_x(2, 1000);
    });
    EXPECT_EQ(engines.run().fault, FaultKind::kOutOfMemory);
  }
}

TEST(Windows, SelfModifyingCodeIsNoticed) {
  // Adds 1 ten times; half way the loop writes over its own addition.
  const Words words = {add_imm(0, 0, 1), 0xb9000061 /* str w1, [x3] */, subs_imm(2, 2, 1), b_ne(-3), hlt(0)};
  Engines engines({b(0)});
  engines.all([&](Machine& machine) {
    EXPECT_TRUE(machine.map(kData, kPage, kProtectRead | kProtectWrite | kProtectExecute).ok());
    EXPECT_TRUE(machine.write(kData, bytes_of(words)).ok());
    machine.set_x(1, add_imm(0, 0, 5));
    machine.set_x(2, 10);
    machine.set_x(3, kData);
    machine.set_pc(kData);
  });
  EXPECT_EQ(engines.run().reason, StopReason::kHalt);
  EXPECT_EQ(engines.interp().x(0), 46u);
}

// The program's own handler comes after ours: then lanes run without windows.
TEST(Windows, AnotherHandlerTurnsThemOff) {
  struct sigaction own{}, before{};
  Engines engines({0xf9400023, 0xf9000023, subs_imm(2, 2, 1), b_ne(-3), hlt(0)});
  for (const bool replaced : {false, true, false}) {
    if (replaced) {
      own.sa_handler = SIG_DFL;
      ::sigaction(SIGSEGV, &own, &before);
    }
    engines.all([&](Machine& machine) {
      set_up(machine, kData, 10);
      machine.set_x(2, 10);
    });
    EXPECT_EQ(engines.run().reason, StopReason::kHalt);
    if (replaced) ::sigaction(SIGSEGV, &before, nullptr);
  }
}

TEST(Windows, RunWhereTheSignalIsBlocked) {
  std::thread([] {
    sigset_t set;
    sigfillset(&set);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    Engines engines({0xf9000023, 0xf9400024, hlt(0)});
    engines.all([](Machine& machine) { set_up(machine, kData + 5 * kPage, 0); });
    EXPECT_EQ(engines.run().reason, StopReason::kHalt);
  }).join();
}

}  // namespace
}  // namespace kvrm
