#include "symbols/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>

#include "symbols/match.h"

namespace kvrm::symbols {
namespace {

using Names = std::vector<std::string>;

bool share(const Names& a, const Names& b) { return std::ranges::find_first_of(a, b) != a.end(); }

// The baselines: each answers with the number of a known routine.
class Baselines {
 public:
  explicit Baselines(const Image& known) : scores_(known.routines.size()) {
    std::unordered_map<u32, u32> routines_with;
    std::vector<Features> all;
    for (u32 i = 0; i < known.routines.size(); ++i) {
      Features& features = all.emplace_back(features_of(known.routines[i]));
      by_exact_.try_emplace(features.exact, i);
      by_head_.try_emplace(features.head, i);
      sequences_.insert(features.rows);
      std::erase_if(features.tokens, [](const Token& token) { return token.kind() != TokenKind::kRows; });
      for (const Token& token : features.tokens) ++routines_with[token.hash];
    }
    const float total = static_cast<float>(all.size() + 1);
    for (const auto& [hash, count] : routines_with) weights_[hash] = std::log(total / static_cast<float>(count));
    for (u32 i = 0; i < all.size(); ++i) {
      float sum = 0;
      for (const Token& token : all[i].tokens) {
        const float weight = count_weight(token.count) * weights_[token.hash];
        postings_[token.hash].push_back({i, weight});
        sum += weight * weight;
      }
      norms_.push_back(std::sqrt(std::max(sum, 1e-6f)));
    }
  }

  std::optional<u32> exact(const Features& features) const { return find(by_exact_, features.exact); }
  bool has_sequence(const Features& features) const { return sequences_.contains(features.rows); }
  std::optional<u32> head(const Features& features) const { return find(by_head_, features.head); }

  // The nearest by the cosine of the 3-grams.
  std::optional<u32> rows(const Features& features) {
    std::ranges::fill(scores_, 0.0f);
    for (const Token& token : features.tokens) {
      const auto found = postings_.find(token.hash);
      if (found == postings_.end()) continue;
      const float weight = count_weight(token.count) * weights_[token.hash];
      for (const Posting& one : found->second) scores_[one.entry] += weight * one.weight / norms_[one.entry];
    }
    const auto best = std::ranges::max_element(scores_);
    if (best == scores_.end() || *best == 0) return std::nullopt;
    return static_cast<u32>(best - scores_.begin());
  }

 private:
  using ByHash = std::unordered_map<u64, u32>;
  static std::optional<u32> find(const ByHash& by_hash, u64 hash) {
    const auto found = by_hash.find(hash);
    return found == by_hash.end() ? std::nullopt : std::optional<u32>(found->second);
  }

  ByHash by_exact_, by_head_;
  std::set<u64> sequences_;
  std::unordered_map<u32, float> weights_;
  std::unordered_map<u32, std::vector<Posting>> postings_;
  std::vector<float> norms_, scores_;
};

}  // namespace

Image shuffled(const Image& image) {
  u32 units = 0;
  for (const Routine& routine : image.routines) units = std::max(units, routine.unit + 1);
  std::vector<u32> key(units), order(image.routines.size()), place(image.routines.size());
  std::iota(key.begin(), key.end(), 0);
  // Not std::shuffle, whose result is the library's choice.
  std::mt19937 random(1);
  for (u32 i = units; i > 1; --i) std::swap(key[i - 1], key[random() % i]);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](u32 number) { return std::pair(key[image.routines[number].unit], number); });
  for (u32 i = 0; i < order.size(); ++i) place[order[i]] = i;
  Image result;
  for (const u32 number : order) {
    Routine& routine = result.routines.emplace_back(image.routines[number]);
    for (u32& callee : routine.calls) callee = place[callee];
  }
  return result;
}

Evaluation evaluate(const Image& known, const Index& index, const Image& asked, u32 libraries, Limits limits) {
  std::set<std::string> names;
  for (const Routine& routine : known.routines) names.insert(routine.names.begin(), routine.names.end());
  Baselines baselines(known);
  const std::vector<Match> matches = match(index, asked);
  Evaluation result;
  result.scores.resize(libraries);
  for (u32 i = 0; i < asked.routines.size(); ++i) {
    const Routine& routine = asked.routines[i];
    const Match& found = matches[i];
    const Features features = features_of(routine);
    if (features.length < limits.shortest) continue;
    Score& score = result.scores[routine.library];
    const bool absent = std::ranges::none_of(routine.names, [&](const auto& name) { return names.contains(name); });
    const bool right = found.entry != kNoEntry && share(routine.names, index.entries()[found.entry].names);
    const bool named = found.entry != kNoEntry && found.confidence >= limits.threshold;
    result.cases.push_back({i, absent, right, features.length, found});
    if (absent) {
      ++score.absent;
      score.absent_named += named;
      continue;
    }
    const auto is_right = [&](std::optional<u32> number) {
      return number && share(routine.names, known.routines[*number].names);
    };
    const auto exact = baselines.exact(features);
    ++score.routines;
    score.top1 += right;
    score.exact += exact.has_value();
    score.exact_top1 += exact && right;
    const bool unlike = !baselines.has_sequence(features);
    score.unlike += unlike;
    score.unlike_top1 += unlike && right;
    score.by_exact += is_right(exact);
    score.by_head += is_right(baselines.head(features));
    score.by_rows += is_right(baselines.rows(features));
    score.named += named;
    score.named_right += named && right;
  }
  return result;
}

}  // namespace kvrm::symbols
