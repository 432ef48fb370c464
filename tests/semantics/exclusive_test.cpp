// The exclusive monitor is (address, size, value): what makes a store-exclusive succeed, and what does not.
#include <gtest/gtest.h>

#include "bench_top.h"

namespace kvrm::test {
namespace {

constexpr u64 kAddress = BenchTop::kStart + 0x40;
constexpr u32 kLdxrX = 0xc85f7c20;  // ldxr x0, [x1]
constexpr u32 kLdxrW = 0x885f7c20;  // ldxr w0, [x1]
constexpr u32 kStxrX = 0xc8027c23;  // stxr w2, x3, [x1]
constexpr u32 kLdxpX = 0xc87f1c26;  // ldxp x6, x7, [x1]
constexpr u32 kStxpX = 0xc8221023;  // stxp w2, x3, x4, [x1]
constexpr u32 kClrex = 0xd5033f5f;
constexpr u64 kOld = 0x1111222233334444;
constexpr u64 kNew = 0xfeedfacecafebeef;

class Exclusive : public testing::Test {
 protected:
  void SetUp() override {
    top.cpu.x[1] = kAddress;
    top.cpu.x[2] = 77;
    top.cpu.x[3] = kNew;
    top.cpu.x[4] = ~kNew;
    top.set_word_at(kAddress, kOld);
  }

  void expect_store(bool succeeds) {
    const u64 before = top.word_at(kAddress);
    ASSERT_EQ(top.run<isa::STXR>(kStxrX), Trap::kNone);
    EXPECT_EQ(top.cpu.x[2], succeeds ? 0u : 1u);
    EXPECT_EQ(top.word_at(kAddress), succeeds ? kNew : before);
    EXPECT_EQ(top.cpu.exclusive_size, 0u);
  }

  BenchTop top;
};

TEST_F(Exclusive, StoreAfterLoadSucceedsOnce) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  EXPECT_EQ(top.cpu.x[0], kOld);
  expect_store(true);
  expect_store(false);
}

TEST_F(Exclusive, StoreWithoutLoadFails) { expect_store(false); }

TEST_F(Exclusive, StoreFailsWhenTheValueChanged) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  top.set_word_at(kAddress, kOld + 1);
  expect_store(false);
}

TEST_F(Exclusive, StoreSucceedsWhenTheValueCameBack) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  top.set_word_at(kAddress, 0);
  top.set_word_at(kAddress, kOld);
  expect_store(true);
}

TEST_F(Exclusive, StoreFailsAtAnotherAddress) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  top.cpu.x[1] += 8;
  ASSERT_EQ(top.run<isa::STXR>(kStxrX), Trap::kNone);
  EXPECT_EQ(top.cpu.x[2], 1u);
  EXPECT_EQ(top.word_at(kAddress + 8), 0u);
}

TEST_F(Exclusive, AnotherTagIsTheSameAddress) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  top.cpu.x[1] |= u64{0x5a} << 56;
  expect_store(true);
}

TEST_F(Exclusive, StoreFailsWithAnotherSize) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrW), Trap::kNone);
  expect_store(false);
}

TEST_F(Exclusive, ClrexDisarms) {
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kNone);
  ASSERT_EQ(top.run<isa::CLREX>(kClrex), Trap::kNone);
  expect_store(false);
}

TEST_F(Exclusive, PairsAreOneAccess) {
  top.set_word_at(kAddress + 8, ~kOld);
  ASSERT_EQ(top.run<isa::LDXP>(kLdxpX), Trap::kNone);
  EXPECT_EQ(top.cpu.x[6], kOld);
  EXPECT_EQ(top.cpu.x[7], ~kOld);
  ASSERT_EQ(top.run<isa::STXP>(kStxpX), Trap::kNone);
  EXPECT_EQ(top.cpu.x[2], 0u);
  EXPECT_EQ(top.word_at(kAddress), kNew);
  EXPECT_EQ(top.word_at(kAddress + 8), ~kNew);
}

TEST_F(Exclusive, ChangeOfThePairsSecondHalfIsSeen) {
  ASSERT_EQ(top.run<isa::LDXP>(kLdxpX), Trap::kNone);
  top.set_word_at(kAddress + 8, 1);
  ASSERT_EQ(top.run<isa::STXP>(kStxpX), Trap::kNone);
  EXPECT_EQ(top.cpu.x[2], 1u);
  EXPECT_EQ(top.word_at(kAddress), kOld);
}

TEST_F(Exclusive, UnalignedIsAFaultAndArmsNothing) {
  top.cpu.x[1] += 4;
  const Cpu before = top.cpu;
  ASSERT_EQ(top.run<isa::LDXR>(kLdxrX), Trap::kAlignment);
  EXPECT_TRUE(same_but_for_fault(top.cpu, before));
  EXPECT_EQ(top.cpu.fault_address, kAddress + 4);
}

}  // namespace
}  // namespace kvrm::test
