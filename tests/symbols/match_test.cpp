#include "symbols/match.h"

#include <gtest/gtest.h>

#include "code.h"

namespace kvrm::symbols {
namespace {

// A library of routines r0, r1, ..., and what a later build makes of it.
constexpr u32 kRoutines = 60;

Image library() {
  Image image;
  for (u32 i = 0; i < kRoutines; ++i) {
    image.routines.push_back(routine("r" + std::to_string(i), code(i, 12 + i % 40)));
    image.routines.back().unit = i / 3;
  }
  return image;
}

Image later_build(bool with_names) {
  Image image = library();
  for (u32 i = 0; i < kRoutines; ++i) {
    Routine& one = image.routines[i];
    if (!with_names) one.names.clear();
    one.words.insert(one.words.begin() + 5, add(3, 3, i + 1));
    one.words.insert(one.words.begin(), kBtiC);
  }
  return image;
}

Index index_of(const Image& image) { return Index::build(image, {{"lib", "1"}}); }

TEST(SymbolMatch, ChangedRoutinesAreFound) {
  const Index index = index_of(library());
  const auto matches = match(index, later_build(false));
  u32 right = 0;
  for (u32 i = 0; i < kRoutines; ++i) {
    ASSERT_NE(matches[i].entry, kNoEntry);
    right += index.entries()[matches[i].entry].names.front() == "r" + std::to_string(i);
    EXPECT_FALSE(matches[i].exact);
  }
  EXPECT_GE(right, kRoutines - 2);
}

TEST(SymbolMatch, SameCodeIsExact) {
  const Index index = index_of(library());
  const auto matches = match(index, library());
  for (u32 i = 0; i < kRoutines; ++i) {
    EXPECT_TRUE(matches[i].exact);
    EXPECT_EQ(index.entries()[matches[i].entry].names.front(), "r" + std::to_string(i));
  }
}

TEST(SymbolMatch, OtherCodeHasNoConfidence) {
  Image other;
  for (u32 i = 0; i < kRoutines; ++i) other.routines.push_back(routine("", code(1000 + i, 30)));
  for (const Match& one : match(index_of(library()), other)) EXPECT_LT(one.confidence, 0.5);
}

TEST(SymbolMatch, CallersTellRoutinesOfTheSameCodeApart) {
  Image known = library();
  known.routines.push_back(routine("get_a", {add(0, 0, 8), kRet}));
  known.routines.push_back(routine("get_b", {add(0, 0, 8), kRet}));
  known.routines[7].calls = {kRoutines};
  known.routines[8].calls = {kRoutines + 1};
  for (Routine& one : known.routines) one.unit = static_cast<u32>(&one - known.routines.data());
  Image program = known;
  std::swap(program.routines[7].calls, program.routines[8].calls);
  for (Routine& one : program.routines) one.names.clear();
  const Index index = index_of(known);
  const auto matches = match(index, program);
  EXPECT_EQ(index.entries()[matches[kRoutines].entry].names.front(), "get_b");
  EXPECT_EQ(index.entries()[matches[kRoutines + 1].entry].names.front(), "get_a");
}

TEST(SymbolIndex, AFileHoldsTheSameIndex) {
  Image image = library();
  image.routines[3].calls = {5, 9};
  image.routines[3].calls_outside = {"malloc"};
  image.routines[4].names.push_back("alias");
  const Index index = index_of(image);
  const std::vector<u8> file = index.serialize();
  const auto parsed = Index::parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed.value().entries().size(), kRoutines);
  EXPECT_EQ(parsed.value().serialize(), file);
  const auto a = match(index, later_build(false)), b = match(parsed.value(), later_build(false));
  for (u32 i = 0; i < kRoutines; ++i) {
    EXPECT_EQ(a[i].entry, b[i].entry);
    EXPECT_EQ(a[i].confidence, b[i].confidence);
  }
}

TEST(SymbolIndex, TheSameRoutineOfTwoVersionsIsKeptOnce) {
  Image image = library();
  const Image twice = library();
  for (Routine one : twice.routines) {
    one.library = 1;
    image.routines.push_back(one);
  }
  EXPECT_EQ(Index::build(image, {{"lib", "1"}, {"lib", "2"}}).entries().size(), kRoutines);
  EXPECT_EQ(Index::build(image, {{"lib", "1"}, {"other", "1"}}).entries().size(), 2 * kRoutines);
}

TEST(SymbolMatch, AnEmptyIndexOrProgramIsFine) {
  EXPECT_TRUE(match(index_of(library()), {}).empty());
  const auto matches = match(index_of({}), library());
  EXPECT_EQ(matches[0].entry, kNoEntry);
}

}  // namespace
}  // namespace kvrm::symbols
