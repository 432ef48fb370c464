// What every driver may rely on (semantics/meaning.h), for every implemented row on random words and states: a trap
// changes nothing but the fault fields, nothing outside the window is touched, the zero register stays zero, flags stay
// bits, and rows of flow next leave pc alone.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "bench_top.h"
#include "isa/a64_names.h"

#define KVRM_DECLARE_ROW(name) \
  extern "C" kvrm::Trap row_##name(kvrm::Cpu* cpu, kvrm::memory::Flat* memory, kvrm::u32 word);
KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_DECLARE_ROW)
#undef KVRM_DECLARE_ROW

namespace kvrm::test {
namespace {

struct RowFunction {
  isa::Row row;
  Trap (*call)(Cpu*, memory::Flat*, u32);
};

constexpr RowFunction kRows[] = {
#define KVRM_LIST_ROW(name) {isa::Row::name, row_##name},
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_LIST_ROW)
#undef KVRM_LIST_ROW
};

constexpr int kWordsPerRow = 60;
constexpr int kStatesPerWord = 20;
constexpr u64 kStart = 0x4000;
constexpr u64 kWindow = 128;
constexpr u64 kGuard = 128;

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}

  u64 bits() { return engine_(); }
  bool one_in(u64 n) { return engine_() % n == 0; }

  // Mostly addresses in and around the window, some tagged; otherwise anything.
  u64 general() {
    if (one_in(4)) return bits() >> (bits() % 64);
    const u64 aligned = one_in(2) ? ~u64{7} : ~u64{0};
    const u64 address = (kStart - 40 + bits() % (kWindow + 80)) & aligned;
    return one_in(8) ? address | bits() << 56 : address;
  }

  Cpu state() {
    Cpu cpu{};
    for (u64& x : cpu.x) x = general();
    cpu.x[kZeroSlot] = 0;
    cpu.pc = one_in(2) ? kStart : 0x10000;
    unpack_nzcv(cpu, static_cast<u32>(bits()));
    for (U128& q : cpu.q) q = {bits(), bits()};
    cpu.fpcr = one_in(2) ? 0 : static_cast<u32>(bits()) & 0x07c80000;
    cpu.exclusive_address = general() & kUntaggedAddress;
    cpu.exclusive_size = 1u << (bits() % 5);
    return cpu;
  }

 private:
  std::mt19937_64 engine_;
};

struct Guarded {
  std::array<u8, kGuard + kWindow + kGuard> bytes{};
  memory::Flat memory{bytes.data() + kGuard, kStart, kWindow};

  bool guards_hold() const {
    for (u64 i = 0; i < kGuard; ++i) {
      if (bytes[i] != 0 || bytes[kGuard + kWindow + i] != 0) return false;
    }
    return true;
  }
};

void check(const RowFunction& row, u32 word, Random& random) {
  Guarded guarded;
  for (u64 i = 0; i < kWindow; ++i) guarded.memory.bytes[i] = static_cast<u8>(random.bits());
  const auto bytes_before = guarded.bytes;
  const Cpu before = random.state();
  Cpu cpu = before;
  const Trap trap = row.call(&cpu, &guarded.memory, word);

  ASSERT_TRUE(guarded.guards_hold());
  ASSERT_EQ(cpu.x[kZeroSlot], 0u);
  ASSERT_LE(cpu.n | cpu.z | cpu.c | cpu.v, 1);
  if (trap != Trap::kNone && trap != Trap::kSystemCall) {
    ASSERT_TRUE(same_but_for_fault(cpu, before)) << "trap " << static_cast<u32>(trap) << " changed the state";
    ASSERT_EQ(guarded.bytes, bytes_before) << "trap " << static_cast<u32>(trap) << " changed memory";
  }
  if (isa::facts(row.row).flow == isa::Flow::kNext) ASSERT_EQ(cpu.pc, before.pc);
}

TEST(Contract, EveryRow) {
  for (const RowFunction& row : kRows) {
    const isa::RowFacts& facts = isa::facts(row.row);
    const char* name = isa::kRowNames[static_cast<u32>(row.row)];
    Random random(static_cast<u64>(row.row));
    int words = 0;
    for (int attempt = 0; words < kWordsPerRow && attempt < 100 * kWordsPerRow; ++attempt) {
      const u32 word = (static_cast<u32>(random.bits()) & ~facts.mask) | facts.bits;
      if (!isa::accepts(row.row, word)) continue;
      ++words;
      for (int state = 0; state < kStatesPerWord; ++state) {
        check(row, word, random);
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << name << std::hex << " 0x" << word;
      }
    }
    EXPECT_GT(words, 0) << name;
  }
}

}  // namespace
}  // namespace kvrm::test
