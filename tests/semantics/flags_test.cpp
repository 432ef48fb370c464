// The flags of additions and subtractions, against arithmetic wide enough to need no tricks.
#include <gtest/gtest.h>

#include "bench_top.h"

namespace kvrm::test {
namespace {

__extension__ using Wide = __int128;

constexpr u64 kEdges[] = {
    0,          1,          2,           0x7fffffff,         0x80000000,         0x80000001,
    0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
    ~u64{1},    ~u64{0}};

struct Expected {
  u64 value;
  u32 nzcv;
};

// a + b + carry in T and in its signed twin.
template <class T>
Expected sum(u64 a_bits, u64 b_bits, unsigned carry) {
  const T a = static_cast<T>(a_bits);
  const T b = static_cast<T>(b_bits);
  const Wide unsigned_sum = Wide{a} + Wide{b} + carry;
  const Wide signed_sum = Wide{static_cast<Signed<T>>(a)} + Wide{static_cast<Signed<T>>(b)} + carry;
  const T value = static_cast<T>(unsigned_sum);
  const bool n = static_cast<Signed<T>>(value) < 0;
  const bool c = unsigned_sum != Wide{value};
  const bool v = signed_sum != Wide{static_cast<Signed<T>>(value)};
  return {value, u32{n} << 31 | u32{value == 0} << 30 | u32{c} << 29 | u32{v} << 28};
}

Expected sum_sized(bool is_64, u64 a, u64 b, unsigned carry) {
  return is_64 ? sum<u64>(a, b, carry) : sum<u32>(a, b, carry);
}

// op x2, x0, x1 with a carry in.
template <class Op>
void expect_flags(u32 base, u64 a, u64 b, unsigned carry, const Expected& expected) {
  BenchTop top;
  top.cpu.x[0] = a;
  top.cpu.x[1] = b;
  top.cpu.c = static_cast<u8>(carry);
  ASSERT_EQ(top.run<Op>(base | 1 << 16 | 0 << 5 | 2), Trap::kNone);
  EXPECT_EQ(top.cpu.x[2], expected.value) << std::hex << base << ": " << a << ", " << b << ", " << carry;
  EXPECT_EQ(pack_nzcv(top.cpu), expected.nzcv) << std::hex << base << ": " << a << ", " << b << ", " << carry;
}

TEST(Flags, AdditionsAndSubtractionsOfEdgeValues) {
  for (const bool is_64 : {false, true}) {
    const u32 sf = u32{is_64} << 31;
    for (const u64 a : kEdges) {
      for (const u64 b : kEdges) {
        expect_flags<isa::ADDS_shift>(sf | 0x2b000000, a, b, 0, sum_sized(is_64, a, b, 0));
        expect_flags<isa::SUBS_shift>(sf | 0x6b000000, a, b, 0, sum_sized(is_64, a, ~b, 1));
        for (const unsigned carry : {0u, 1u}) {
          expect_flags<isa::ADCS>(sf | 0x3a000000, a, b, carry, sum_sized(is_64, a, b, carry));
          expect_flags<isa::SBCS>(sf | 0x7a000000, a, b, carry, sum_sized(is_64, a, ~b, carry));
        }
      }
    }
  }
}

TEST(Flags, AddsImmediateReadsSpAndWritesTheZeroRegister) {
  BenchTop top;
  top.cpu.x[kSpSlot] = ~u64{0};
  ASSERT_EQ(top.run<isa::ADDS_imm>(0xb10007ff), Trap::kNone);  // adds xzr, sp, #1
  EXPECT_EQ(top.cpu.x[kZeroSlot], 0u);
  EXPECT_EQ(top.cpu.x[kSpSlot], ~u64{0});
  EXPECT_EQ(pack_nzcv(top.cpu), 0x60000000u);
}

TEST(Flags, AddImmediateWritesSp) {
  BenchTop top;
  top.cpu.x[kSpSlot] = 0x100;
  ASSERT_EQ(top.run<isa::ADD_imm>(0x914007ff), Trap::kNone);  // add sp, sp, #1, lsl #12
  EXPECT_EQ(top.cpu.x[kSpSlot], 0x1100u);
  EXPECT_EQ(pack_nzcv(top.cpu), 0u);
}

TEST(Flags, ConditionalCompareTakesItsImmediateWhenTheConditionFails) {
  BenchTop top;
  ASSERT_EQ(top.run<isa::CCMP_imm>(0xfa40080d), Trap::kNone);  // ccmp x0, #0, #13, eq
  EXPECT_EQ(pack_nzcv(top.cpu), 0xd0000000u);
  ASSERT_EQ(top.run<isa::CCMP_imm>(0xfa400800), Trap::kNone);  // Z is set now: 0 - 0
  EXPECT_EQ(pack_nzcv(top.cpu), 0x60000000u);
}

}  // namespace
}  // namespace kvrm::test
