#include "neural/loop_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace kvrm::neural {

struct TreeReader {
  static constexpr u32 kFeatures = kLoopWords * 65 + 2 * kLoopRegisters;

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

const LoopTree::Node& LoopTree::leaf_of(const Tree& tree, const std::vector<float>& features) {
  const Node* node = &tree.front();
  while (node->low != 0) node = &tree[features[node->feature] <= node->threshold ? node->low : node->high];
  return *node;
}

// The network's inputs as training/loop_network.py's tree_inputs() has them: the words at the back.
LoopGuess LoopTree::guess(const LoopInput& input) const {
  std::vector<float> features(TreeReader::kFeatures);
  for (u32 i = 0; i < input.count; ++i) {
    float* const at = &features[(kLoopWords - input.count + i) * std::size_t{65}];
    float bits[32], fields[32];
    detail::spread_word(bits, fields, input.words[i]);
    at[0] = 1;
    std::ranges::copy(bits, at + 1);
    std::ranges::copy(fields, at + 33);
  }
  std::ranges::copy(input.registers, &features[kLoopWords * 65]);
  LoopGuess guess{};
  std::ranges::copy(leaf_of(types_, features).value, guess.types);
  guess.counter = static_cast<u32>(leaf_of(counter_, features).value[0]);
  guess.trips_log2 = leaf_of(trips_, features).value[0];
  return guess;
}

}  // namespace kvrm::neural
