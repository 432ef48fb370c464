#include "symbols/features.h"

#include <gtest/gtest.h>

#include "code.h"

namespace kvrm::symbols {
namespace {

Features of(std::vector<u32> words) { return features_of(routine("f", std::move(words))); }

TEST(SymbolFeatures, HintsDoNotCount) {
  const std::vector<u32> plain = code(1, 20);
  std::vector<u32> hardened = plain;
  hardened.insert(hardened.begin(), {kBtiC, kPaciasp});
  hardened.insert(hardened.begin() + 9, kNop);
  EXPECT_EQ(of(plain).exact, of(hardened).exact);
  EXPECT_EQ(of(hardened).length, 20u);
}

TEST(SymbolFeatures, BranchesOverHintsAreTheSame) {
  // b.eq forward over one word and, in the second, over a hint too.
  EXPECT_EQ(of({0x54000040, kRet, add(0, 0, 1), kRet}).exact, of({0x54000060, kRet, kNop, add(0, 0, 1), kRet}).exact);
  EXPECT_NE(of({0x54000040, kRet, add(0, 0, 1), kRet}).exact, of({0x54000060, kRet, add(0, 0, 1), kRet}).exact);
}

TEST(SymbolFeatures, WhatALinkerFillsInDoesNotCount) {
  const std::vector<u32> object = {adrp(0, 0), add(0, 0, 0), bl(0), add(1, 0, 5), kRet};
  const std::vector<u32> linked = {adrp(0, 77), add(0, 0, 0x123), bl(-4000), add(1, 0, 5), kRet};
  EXPECT_EQ(of(object).exact, of(linked).exact);
  // The immediate of an addition to something else does.
  const std::vector<u32> other = {adrp(0, 77), add(0, 0, 0x123), bl(-4000), add(1, 0, 6), kRet};
  EXPECT_NE(of(linked).exact, of(other).exact);
}

TEST(SymbolFeatures, TokensAreSortedAndCounted) {
  const Features features = of({add(0, 0, 1), add(0, 0, 1), add(0, 0, 1), add(0, 0, 1), kRet});
  u32 most = 0;
  for (std::size_t i = 0; i < features.tokens.size(); ++i) {
    if (i != 0) EXPECT_LT(features.tokens[i - 1].hash, features.tokens[i].hash);
    most = std::max(most, features.tokens[i].count);
  }
  EXPECT_EQ(most, 4u);
}

TEST(SymbolFeatures, EveryWordHasAToken) {
  std::mt19937 random(3);
  std::vector<u32> words(5000);
  for (u32& word : words) word = static_cast<u32>(random());
  EXPECT_FALSE(of(words).tokens.empty());
  EXPECT_FALSE(of({0}).tokens.empty());
  EXPECT_EQ(of({}).length, 0u);
}

TEST(SymbolNames, CopiesHaveTheNameOfTheirSource) {
  EXPECT_EQ(source_name("work.isra.0"), "work");
  EXPECT_EQ(source_name("work.constprop.12.isra.3"), "work");
  EXPECT_EQ(source_name("work.part.4"), "work.part");
  EXPECT_EQ(source_name("work.cold"), "work.cold");
  EXPECT_EQ(source_name(".part.1"), ".part.1");
  EXPECT_EQ(main_name({"__libc_read", "__read", "read"}), "read");
}

}  // namespace
}  // namespace kvrm::symbols
