// A few texts by hand, one or more per kind of operand, for builds without LLVM.
#include <gtest/gtest.h>

#include "isa/decode.h"
#include "isa/disassembler/disassemble.h"

namespace kvrm::test {
namespace {

struct Golden {
  u32 word;
  const char* text;
};

constexpr Golden kGolden[] = {
    {0x91000420, "add\tx0, x1, #1"},
    {0x91400420, "add\tx0, x1, #1, lsl #12"},
    {0x910003fd, "mov\tx29, sp"},
    {0xf100041f, "cmp\tx0, #1"},
    {0x92401c20, "and\tx0, x1, #0xff"},
    {0xd2800020, "mov\tx0, #1"},
    {0x12800000, "mov\tw0, #-1"},
    {0xf2a00020, "movk\tx0, #1, lsl #16"},
    {0xd3401c20, "ubfx\tx0, x1, #0, #8"},
    {0x53001c20, "uxtb\tw0, w1"},
    {0xd37ff820, "lsl\tx0, x1, #1"},
    {0x17fffffe, "b\t#-8"},
    {0x54000041, "b.ne\t#8"},
    {0xd65f03c0, "ret"},
    {0xd4000001, "svc\t#0"},
    {0xd503201f, "nop"},
    {0xd5033bbf, "dmb\tish"},
    {0xd53bd040, "mrs\tx0, TPIDR_EL0"},
    {0xd50b7420, "dc\tzva, x0"},
    {0x8b22c3e0, "add\tx0, sp, w2, sxtw"},
    {0x9a9f17e0, "cset\tx0, eq"},
    {0x9b027c20, "mul\tx0, x1, x2"},
    {0xf820003f, "stadd\tx0, [x1]"},
    {0xf8627820, "ldr\tx0, [x1, x2, lsl #3]"},
    {0xa9bf7bfd, "stp\tx29, x30, [sp, #-16]!"},
    {0xf9800020, "prfm\tpldl1keep, [x1]"},
    {0x4cdf7020, "ld1\t{ v0.16b }, [x1], #16"},
};

TEST(DisasmGolden, Texts) {
  for (const Golden& golden : kGolden) EXPECT_EQ(isa::disassemble(golden.word, 0), golden.text);
}

TEST(DisasmGolden, AWordThatIsNoRow) {
  ASSERT_EQ(isa::decode(0xffffffff), isa::Row::kNone);
  EXPECT_EQ(isa::disassemble(0xffffffff, 0), ".inst 0xffffffff");
  ASSERT_EQ(isa::decode(0x04000000), isa::Row::kNone);  // SVE, which a Neoverse N1 does not have
  EXPECT_EQ(isa::disassemble(0x04000000, 0), ".inst 0x04000000");
}

TEST(DisasmGolden, TheAddressChangesNothing) {
  EXPECT_EQ(isa::disassemble(0x17fffffe, 0x400000), isa::disassemble(0x17fffffe, 0));
}

}  // namespace
}  // namespace kvrm::test
