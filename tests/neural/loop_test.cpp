// The loop detector's inference against what PyTorch computed from the same weights, and the tree's file.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "neural/built_in.h"
#include "neural/loop_network.h"
#include "neural/loop_tree.h"

namespace kvrm::neural {
namespace {

using Json = nlohmann::json;

TEST(LoopNetwork, AsPyTorch) {
  auto weights = built_in_weights("loop-detector");
  ASSERT_TRUE(weights) << weights.error().message;
  const auto network = make_loop_network(**weights);
  ASSERT_TRUE(network);
  std::ifstream file(KVRM_LOOP_REFERENCE);
  const Json samples = Json::parse(file);
  ASSERT_GE(samples.size(), 40u);
  for (const Json& sample : samples) {
    const auto words = sample.at("words").get<std::vector<u32>>();
    LoopState first{}, second{};
    const bool has_first = sample.contains("first"), has_second = sample.contains("second");
    if (has_first) first = sample.at("first").get<LoopState>();
    if (has_second) second = sample.at("second").get<LoopState>();
    const LoopGuess guess =
        guess_loop(*network, loop_input(words, has_first ? &first : nullptr, has_second ? &second : nullptr));
    for (u32 i = 0; i < kLoopTypes; ++i) EXPECT_NEAR(guess.types[i], sample.at("types")[i].get<float>(), 2e-3f);
    EXPECT_EQ(guess.counter, sample.at("counter").get<u32>());
    EXPECT_NEAR(guess.trips_log2, sample.at("trips").get<float>(), 5e-2f);
  }
}

TEST(LoopNetwork, OnlyItsOwnWeights) {
  auto others = built_in_weights("dispatch-small");
  ASSERT_TRUE(others);
  EXPECT_FALSE(make_loop_network(**others));
}

TEST(LoopNetwork, LongLoopsAreTheirBranchesAndTheLastOtherWords) {
  const u32 branch = 0x54000041, add = 0x8b010000;
  const std::vector<u32> words = {branch,  add,     add + 1, add + 2, add + 3,
                                  add + 4, add + 5, add + 6, add + 7, branch + 1};
  const LoopInput input = loop_input(words, nullptr, nullptr);
  ASSERT_EQ(input.count, kLoopWords);
  EXPECT_EQ(input.words[0], branch);
  EXPECT_EQ(input.words[1], add + 2);
  EXPECT_EQ(input.words[7], branch + 1);
}

TEST(LoopTree, ShippedOneIsRead) {
  auto tree = LoopTree::parse(built_in_loop_tree());
  ASSERT_TRUE(tree) << tree.error().message;
  // subs x0, x0, #1; b.ne
  const LoopGuess guess = tree.value()->guess(loop_input(std::vector<u32>{0xf1000400, 0x54ffffe1}, nullptr, nullptr));
  EXPECT_LT(guess.types[0], 0.5f);
}

TEST(LoopTree, BadFilesAreErrors) {
  const std::string leaf = R"({"feature":[0],"threshold":[0],"low":[-1],"high":[-1],"value":[[1]]})";
  const std::string types = R"({"feature":[0],"threshold":[0],"low":[-1],"high":[-1],"value":[[1,0,0,0]]})";
  const auto file = [](const std::string& a, const std::string& b) {
    return R"({"types":)" + a + R"(,"counter":)" + b + R"(,"trips":)" + b + "}";
  };
  EXPECT_TRUE(LoopTree::parse(file(types, leaf)));
  EXPECT_FALSE(LoopTree::parse("no JSON"));
  EXPECT_FALSE(LoopTree::parse(file(leaf, leaf)));
  const std::string circle = R"({"feature":[0],"threshold":[0],"low":[0],"high":[0],"value":[[1]]})";
  EXPECT_FALSE(LoopTree::parse(file(types, circle)));
  const std::string wild = R"({"feature":[9999,0,0],"threshold":[0,0,0],"low":[1,-1,-1],"high":[2,-1,-1],)"
                           R"("value":[[1],[1],[1]]})";
  EXPECT_FALSE(LoopTree::parse(file(types, wild)));
}

}  // namespace
}  // namespace kvrm::neural
