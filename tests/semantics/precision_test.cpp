// Faults are precise: an access over the end of the window leaves everything as it was and names the first byte
// outside.
#include <gtest/gtest.h>

#include "bench_top.h"

namespace kvrm::test {
namespace {

constexpr u64 kEnd = BenchTop::kStart + BenchTop::kSize;

class Precision : public testing::Test {
 protected:
  void SetUp() override {
    top.bytes.fill(0xa5);
    for (u32 i = 0; i < 31; ++i) top.cpu.x[i] = 0x1000 + i;
    for (u32 i = 0; i < 32; ++i) top.cpu.q[i] = {i, ~u64{i}};
  }

  // The access starts at `address`, which x2 holds.
  template <class Op>
  void expect_fault(u32 word, u64 address, Access access, u64 fault_address = kEnd) {
    top.cpu.x[2] = address;
    const Cpu before = top.cpu;
    const auto bytes = top.bytes;
    ASSERT_EQ(top.run<Op>(word), Trap::kUnmapped);
    EXPECT_TRUE(same_but_for_fault(top.cpu, before));
    EXPECT_EQ(top.bytes, bytes);
    EXPECT_EQ(top.cpu.fault_address, fault_address);
    EXPECT_EQ(top.cpu.fault_access, static_cast<u32>(access));
  }

  BenchTop top;
};

TEST_F(Precision, LoadPair) {
  expect_fault<isa::LDP_off>(0xa9400440, kEnd - 8, Access::kRead);    // ldp x0, x1, [x2]
  expect_fault<isa::LDP_off>(0xa9400440, kEnd - 15, Access::kRead);
  expect_fault<isa::LDP_off>(0xa9400442, kEnd - 8, Access::kRead);    // ldp x2, x1, [x2]
}

TEST_F(Precision, WriteBackDoesNotHappen) {
  expect_fault<isa::LDP_post>(0xa8c10440, kEnd - 8, Access::kRead);   // ldp x0, x1, [x2], #16
  expect_fault<isa::STP_pre>(0xa9810440, kEnd - 24, Access::kWrite);  // stp x0, x1, [x2, #16]!
}

TEST_F(Precision, StorePairWritesNeither) {
  expect_fault<isa::STP_off>(0xa9000440, kEnd - 8, Access::kWrite);   // stp x0, x1, [x2]
  expect_fault<isa::STP_off_v>(0xad000440, kEnd - 16, Access::kWrite);  // stp q0, q1, [x2]
}

TEST_F(Precision, StructureLoad) {
  expect_fault<isa::LD4_multi>(0x4c400040, kEnd - 63, Access::kRead);  // ld4 {v0.16b - v3.16b}, [x2]
  expect_fault<isa::LD4_multi_post>(0x4cdf0040, kEnd - 1, Access::kRead);
}

TEST_F(Precision, BeforeTheWindowTheAccessItselfIsTheFault) {
  expect_fault<isa::LDP_off>(0xa9400440, BenchTop::kStart - 8, Access::kRead, BenchTop::kStart - 8);
}

TEST_F(Precision, TheLastBytesAreReachable) {
  top.cpu.x[2] = kEnd - 16;
  ASSERT_EQ(top.run<isa::LDP_off>(0xa9400440), Trap::kNone);
  EXPECT_EQ(top.cpu.x[0], 0xa5a5a5a5a5a5a5a5u);
  EXPECT_EQ(top.cpu.x[1], 0xa5a5a5a5a5a5a5a5u);
}

TEST_F(Precision, DcZvaClearsItsWholeBlock) {
  top.cpu.x[2] = kEnd - 1;  // any address in the block
  ASSERT_EQ(top.run<isa::SYS>(0xd50b7422), Trap::kNone);  // dc zva, x2
  for (u64 i = 0; i < BenchTop::kSize; ++i) {
    ASSERT_EQ(top.bytes[i], i < BenchTop::kSize - semantics::kZvaBytes ? 0xa5 : 0) << i;
  }
  EXPECT_EQ(top.cpu.x[2], kEnd - 1);
}

TEST_F(Precision, DcZvaOfABlockThatIsNotAllThereClearsNothing) {
  top.memory.size -= 8;
  expect_fault<isa::SYS>(0xd50b7422, kEnd - 20, Access::kWrite, kEnd - 8);
}

}  // namespace
}  // namespace kvrm::test
