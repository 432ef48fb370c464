// Bitmask immediates: every encoding, against DecodeBitMasks() written down bit by bit.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "bench_top.h"

namespace kvrm::test {
namespace {

// The manual's text (J1.1.3), with bit strings as vectors, least significant bit first.
std::optional<u64> decode_bit_masks(bool n, unsigned imms, unsigned immr, unsigned width) {
  const unsigned joined = unsigned{n} << 6 | (~imms & 63);
  int length = 6;
  while (length >= 0 && !(joined >> length & 1)) --length;
  if (length < 1) return std::nullopt;
  const unsigned esize = 1u << length;
  if (width < esize) return std::nullopt;
  const unsigned levels = esize - 1;
  if ((imms & levels) == levels) return std::nullopt;
  const unsigned ones = (imms & levels) + 1;
  const unsigned rotation = immr & levels;

  std::vector<bool> element(esize);
  for (unsigned i = 0; i < ones; ++i) element[i] = true;
  u64 mask = 0;
  for (unsigned i = 0; i < width; ++i) {
    if (element[(i + rotation) % esize]) mask |= u64{1} << i;
  }
  return mask;
}

u32 and_word(bool is_64, bool n, unsigned immr, unsigned imms) {
  return 0x12000000u | u32{is_64} << 31 | u32{n} << 22 | immr << 16 | imms << 10 | 1 << 5 | 0;
}

class BitmaskImmediate : public testing::TestWithParam<bool> {};

TEST_P(BitmaskImmediate, EveryEncoding) {
  const bool is_64 = GetParam();
  std::set<u64> masks;
  for (const bool n : {false, true}) {
    for (unsigned immr = 0; immr < 64; ++immr) {
      for (unsigned imms = 0; imms < 64; ++imms) {
        const u32 word = and_word(is_64, n, immr, imms);
        const auto expected = decode_bit_masks(n, imms, immr, is_64 ? 64 : 32);
        ASSERT_EQ(isa::accepts(isa::Row::AND_imm, word), expected.has_value()) << std::hex << word;
        if (!expected) continue;
        masks.insert(*expected);
        BenchTop top;
        top.cpu.x[1] = ~u64{0};
        ASSERT_EQ(top.run<isa::AND_imm>(word), Trap::kNone);
        ASSERT_EQ(top.cpu.x[0], *expected) << std::hex << word;
      }
    }
  }
  // A known count, so that the two sides cannot have lost the same encodings.
  EXPECT_EQ(masks.size(), is_64 ? 5334u : 1302u);
}

INSTANTIATE_TEST_SUITE_P(Widths, BitmaskImmediate, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "x" : "w"; });

}  // namespace
}  // namespace kvrm::test
