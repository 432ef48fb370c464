#include "neural/loop_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace kvrm::neural {

struct TreeReader {
  static constexpr u32 kFeatures = kLoopWords * 65 + 2 * kLoopRegisters;
  static float feature(const LoopInput& input, u32 number);

  // Nodes as parallel lists; every child stands after its parent, so a walk ends.
  static LoopTree::Tree read(const nlohmann::json& json, std::size_t values) {
    const auto feature = json.at("feature").get<std::vector<i32>>();
    const auto threshold = json.at("threshold").get<std::vector<float>>();
    const auto low = json.at("low").get<std::vector<i32>>(), high = json.at("high").get<std::vector<i32>>();
    auto value = json.at("value").get<std::vector<std::vector<float>>>();
    const std::size_t count = feature.size();
    if (count == 0 || threshold.size() != count || low.size() != count || high.size() != count || value.size() != count)
      throw std::runtime_error("its lists differ in length");
    LoopTree::Tree tree;
    for (std::size_t i = 0; i < count; ++i) {
      LoopTree::Node& node = tree.emplace_back();
      node.value = std::move(value[i]);
      if (node.value.size() != values) throw std::runtime_error("a leaf has the wrong number of values");
      if (low[i] < 0) continue;
      node.feature = static_cast<u32>(feature[i]);
      node.threshold = threshold[i];
      node.low = static_cast<u32>(low[i]);
      node.high = static_cast<u32>(high[i]);
      if (node.feature >= kFeatures || std::min(node.low, node.high) <= i || std::max(node.low, node.high) >= count)
        throw std::runtime_error("a node leads nowhere");
    }
    return tree;
  }
};

Result<std::shared_ptr<const LoopTree>> LoopTree::parse(std::string_view json) try {
  const auto parsed = nlohmann::json::parse(json);
  auto tree = std::make_shared<LoopTree>();
  tree->types_ = TreeReader::read(parsed.at("types"), kLoopTypes);
  tree->counter_ = TreeReader::read(parsed.at("counter"), 1);
  tree->trips_ = TreeReader::read(parsed.at("trips"), 1);
  return std::shared_ptr<const LoopTree>(std::move(tree));
} catch (const std::exception& error) {
  return Error{std::string("not a tree of loops: ") + error.what()};
}

// The network's inputs as training/loop_network.py's tree_inputs() has them: for each word, at the back, whether it is
// there, its bits and its fields; then the registers.
float TreeReader::feature(const LoopInput& input, u32 number) {
  if (number >= kLoopWords * 65) return input.registers[number - kLoopWords * 65];
  const u32 slot = number / 65, part = number % 65, missing = kLoopWords - input.count;
  if (slot < missing) return 0;
  const u32 word = input.words[slot - missing];
  if (part == 0) return 1;
  if (part <= 32) return static_cast<float>(word >> (part - 1) & 1);
  const u32 name = part - 33;
  float field = (word & 31) == name ? 1.0f : 0.0f;
  if ((word >> 5 & 31) == name) field += 0.5f;
  if ((word >> 16 & 31) == name) field += 0.25f;
  if ((word >> 10 & 31) == name) field += 0.125f;
  return field;
}

const LoopTree::Node& LoopTree::leaf_of(const Tree& tree, const LoopInput& input) {
  const Node* node = &tree.front();
  while (node->low != 0)
    node = &tree[TreeReader::feature(input, node->feature) <= node->threshold ? node->low : node->high];
  return *node;
}

LoopGuess LoopTree::guess(const LoopInput& input) const {
  LoopGuess guess{};
  std::ranges::copy(leaf_of(types_, input).value, guess.types);
  guess.counter = static_cast<u32>(leaf_of(counter_, input).value[0]);
  guess.trips_log2 = leaf_of(trips_, input).value[0];
  return guess;
}

}  // namespace kvrm::neural
