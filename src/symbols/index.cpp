#include "symbols/index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace kvrm::symbols {
namespace {

// Tokens kept of a routine, those that say the most: with all of them an index is far larger and names 0.5 %
// more routines.
constexpr std::size_t kKeptTokens = 24;
// Relative worth of the kinds: rows, operands, texts, shape; set by hand.
constexpr float kKindWeights[kTokenKinds] = {1, 0.7f, 3, 1};

Entry entry_of(const Routine& routine, const Features& features) {
  Entry entry;
  entry.names = routine.names;
  std::ranges::iter_swap(std::ranges::find(entry.names, main_name(entry.names)), entry.names.begin());
  entry.library = routine.library;
  entry.unit = routine.unit;
  entry.length = features.length;
  entry.exact = static_cast<u32>(features.exact);
  return entry;
}

std::vector<std::string> callees_of(const Image& image, const Routine& routine) {
  std::vector<std::string> callees = routine.calls_outside;
  for (const u32 callee : routine.calls) {
    if (!image.routines[callee].names.empty()) callees.push_back(main_name(image.routines[callee].names));
  }
  std::ranges::sort(callees);
  callees.erase(std::unique(callees.begin(), callees.end()), callees.end());
  return callees;
}

// What tells a build of a routine from another one that is the same.
using Identity = std::tuple<std::string, u64, std::vector<std::string>, std::vector<u64>>;

}  // namespace

float count_weight(u32 count) { return 1 + std::log(static_cast<float>(count)); }

Index Index::build(const Image& image, std::vector<Library> libraries) {
  Index index;
  index.libraries_ = std::move(libraries);
  std::map<Identity, u32> known;
  std::vector<std::vector<Token>> tokens;
  for (const Routine& routine : image.routines) {
    if (routine.names.empty() || routine.words.empty()) continue;
    Features features = features_of(routine);
    Entry entry = entry_of(routine, features);
    std::vector<std::string> callees = callees_of(image, routine);
    // Two versions of a library have many routines in common.
    const std::string& library = index.libraries_[routine.library].name;
    const Identity identity{library + " " + entry.names.front(), features.exact, callees, routine.strings};
    const auto [twin, is_new] = known.try_emplace(identity, routine.library);
    if (!is_new && twin->second != routine.library) continue;
    for (const std::string& callee : callees) entry.calls.push_back(name_hash(callee));
    entry.callees = std::move(callees);
    index.entries_.push_back(std::move(entry));
    tokens.push_back(std::move(features.tokens));
  }
  index.count(tokens);
  for (const std::vector<Token>& own : tokens) {
    std::vector<std::pair<float, Occurrence>> all;
    for (const Token& token : own) {
      const Word* word = index.find(token.hash);
      all.push_back(
          {count_weight(token.count) * word->weight, {static_cast<u32>(word - index.vocabulary_.data()), token.count}});
    }
    std::ranges::sort(all, {}, [](const auto& one) { return std::pair(-one.first, one.second.word); });
    all.resize(std::min(all.size(), kKeptTokens));
    auto& kept = index.occurrences_.emplace_back();
    for (const auto& [weight, occurrence] : all) kept.push_back(occurrence);
    std::ranges::sort(kept, {}, &Occurrence::word);
  }
  index.finish();
  return index;
}

void Index::count(const std::vector<std::vector<Token>>& tokens) {
  std::vector<u32> all;
  for (const auto& own : tokens) {
    for (const Token& token : own) all.push_back(token.hash);
  }
  std::ranges::sort(all);
  for (const u32 hash : all) {
    if (vocabulary_.empty() || vocabulary_.back().hash != hash) vocabulary_.push_back({hash});
    ++vocabulary_.back().entries;
  }
  weigh();
}

void Index::weigh() {
  for (Word& word : vocabulary_) {
    word.weight = unknown_weight(static_cast<TokenKind>(word.hash >> 30)) -
                  kKindWeights[word.hash >> 30] * std::log(static_cast<float>(word.entries));
  }
}

void Index::finish() {
  for (const auto& own : occurrences_) {
    for (const Occurrence& one : own) ++vocabulary_[one.word].count;
  }
  u32 first = 0;
  for (Word& word : vocabulary_) word.first = std::exchange(first, first + std::exchange(word.count, 0));
  postings_.resize(first);
  std::vector<ByName> named, callers;
  for (u32 number = 0; number < entries_.size(); ++number) {
    float sum = 0;
    first_weighted_.push_back(weighted_.size());
    for (const Occurrence& one : occurrences_[number]) {
      Word& word = vocabulary_[one.word];
      const float weight = count_weight(one.count) * word.weight;
      postings_[word.first + word.count++] = {number, weight};
      weighted_.push_back({word.hash, weight});
      sum += weight * weight;
    }
    norms_.push_back(std::sqrt(std::max(sum, 1e-6f)));
    Entry& entry = entries_[number];
    std::ranges::sort(entry.calls);
    for (const u32 callee : entry.calls) callers.push_back({callee, number});
    named.push_back({name_hash(entry.names.front()), number});
  }
  first_weighted_.push_back(weighted_.size());
  named_.fill(std::move(named));
  callers_.fill(std::move(callers));
}

void Index::Names::fill(std::vector<ByName> pairs) {
  std::ranges::sort(pairs, {}, [](const ByName& one) { return std::pair(one.name, one.entry); });
  for (const ByName& one : pairs) {
    if (names.empty() || names.back() != one.name) {
      names.push_back(one.name);
      first.push_back(static_cast<u32>(entries.size()));
    }
    entries.push_back(one.entry);
  }
  first.push_back(static_cast<u32>(entries.size()));
}

std::span<const u32> Index::Names::of(u32 name) const {
  const auto found = std::ranges::lower_bound(names, name);
  if (found == names.end() || *found != name) return {};
  const auto at = static_cast<std::size_t>(found - names.begin());
  return std::span(entries).subspan(first[at], first[at + 1] - first[at]);
}

const Word* Index::find(u32 token) const {
  const auto found = std::ranges::lower_bound(vocabulary_, token, {}, &Word::hash);
  return found == vocabulary_.end() || found->hash != token ? nullptr : &*found;
}

float Index::unknown_weight(TokenKind kind) const {
  return kKindWeights[static_cast<u32>(kind)] * std::log(static_cast<float>(entries_.size() + 1));
}

float Index::name_weight(u32 name) const {
  const std::size_t count = std::max<std::size_t>(1, callers(name).size());
  return std::log(static_cast<float>(entries_.size() + 1) / static_cast<float>(count));
}

std::span<const u32> Index::named(u32 name) const { return named_.of(name); }
std::span<const u32> Index::callers(u32 name) const { return callers_.of(name); }

}  // namespace kvrm::symbols
