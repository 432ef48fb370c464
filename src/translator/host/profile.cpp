#include "translator/host/profile.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "memory/page_entry.h"

namespace kvrm::translator {
namespace {

// Limits of one program on disk. The most frequent are stored.
constexpr std::size_t kMostKept = std::size_t{1} << 16;

// Limits of one program in memory: a guest can run any number of words, at pcs that come and go.
constexpr std::size_t kMostKnown = std::size_t{1} << 17;

// Keeps the more frequent half when there are too many.
template <class Map, class Count>
void trim(Map& map, Count count) {
  if (map.size() <= kMostKnown) return;
  std::vector<u64> counts;
  counts.reserve(map.size());
  for (const auto& [key, value] : map) counts.push_back(count(value));
  constexpr std::size_t kKept = kMostKnown / 2;
  std::ranges::nth_element(counts, counts.begin() + kKept, std::greater<>());
  const u64 least = counts[kKept];
  // Of equal ones, as many as there is room for.
  auto room = static_cast<std::ptrdiff_t>(kKept) - std::ranges::count_if(counts, [&](u64 one) { return one > least; });
  std::erase_if(map, [&](const auto& entry) {
    const u64 here = count(entry.second);
    return here < least || (here == least && --room < 0);
  });
}

// One of so many runs tries again what did not pay.
constexpr u64 kRunsLeftOut = 8;

// A target that a branch takes less often than once in so many times is not worth a compare.
constexpr u64 kLeastTargetShare = 32;

bool begins_region(const TraceStep& step) {
  switch (step.flow) {
    case isa::Flow::kCall:
    case isa::Flow::kReturn:
    case isa::Flow::kIndirect: return true;
    case isa::Flow::kDirect:
    case isa::Flow::kConditional: return step.to <= step.from;
    default: return false;
  }
}

}  // namespace

void Profile::arrive(u64 pc, u64 weight, bool is_entry) {
  Target& target = targets_[pc];
  target.is_entry |= is_entry;
  target.arrivals += weight;
  ++target.samples;
  reached_.push_back(pc);
}

void Profile::add(std::span<const TraceStep> steps, u64 weight) {
  for (const TraceStep& step : steps) {
    Word& word = words_.try_emplace(step.from, Word{0, 0, past_.runs}).first->second;
    word.seen += weight;
    if (past_.runs - word.first_run < kEarlyRuns) of_new_code_ += weight;
    if (step.leaves_region) arrive(step.from, weight, true);
    if (step.is_taken()) taken_[{step.from, step.to}] += weight;
    if (step.is_taken() && !step.enters_region) arrive(step.to, weight, begins_region(step));
  }
  trim(words_, [](const Word& word) { return word.seen; });
  trim(taken_, [](u64 count) { return count; });
  trim(targets_, [](const Target& target) { return target.arrivals; });
  changed_ = true;
}

std::vector<Profile::Candidate> Profile::candidates(std::size_t most, u64 least_arrivals) {
  std::ranges::sort(reached_);
  reached_.erase(std::unique(reached_.begin(), reached_.end()), reached_.end());
  std::vector<Candidate> found;
  for (const u64 pc : reached_) {
    const Target& target = targets_[pc];
    // The interpreter should not reach a region's entry again: if it does, the region is not installed.
    const u64 growth = target.settled ? std::max(target.set_aside_at, least_arrivals) : target.set_aside_at / 2;
    if (target.is_entry && target.arrivals >= target.set_aside_at + growth && target.arrivals >= least_arrivals)
      found.push_back({pc, target.arrivals, target.samples, target.settled});
  }
  reached_.clear();
  const auto more = [](const Candidate& a, const Candidate& b) {
    return a.arrivals != b.arrivals ? a.arrivals > b.arrivals : a.pc < b.pc;
  };
  most = std::min(most, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(), more);
  found.resize(most);
  return found;
}

void Profile::set_aside(u64 pc) {
  Target& target = targets_[pc];
  target.set_aside_at = std::max<u64>(target.arrivals, 1);
}

u64 Profile::unpaid(u64 pc) const {
  const auto found = words_.find(pc);
  return found == words_.end() ? 0 : found->second.seen - found->second.paid;
}

u64 Profile::unpaid(const Plan& plan) const {
  u64 sum = 0;
  for (const u64 pc : plan.addresses()) sum += unpaid(pc);
  return sum;
}

u64 Profile::executions(const Plan& plan) const {
  u64 sum = 0;
  for (const u64 pc : plan.addresses()) {
    const auto found = words_.find(pc);
    if (found != words_.end()) sum += found->second.seen;
  }
  return sum;
}

u64 Profile::visits(const Plan& plan) const {
  if (plan.blocks.empty()) return 0;
  const u64 entry = plan.blocks.front().address;
  const auto target = targets_.find(entry);
  if (target == targets_.end()) return 0;
  u64 from_inside = 0;
  for (const u64 pc : plan.addresses()) {
    const auto edge = taken_.find({pc, entry});
    if (edge != taken_.end()) from_inside += edge->second;
  }
  return target->second.arrivals - std::min(from_inside, target->second.arrivals);
}

bool Profile::is_settled(u64 pc) const {
  const auto found = targets_.find(pc);
  return found != targets_.end() && found->second.settled;
}

void Profile::settle(u64 target, std::span<const u64> words) {
  set_aside(target);
  targets_[target].settled = true;
  for (const u64 pc : words) {
    const auto found = words_.find(pc);
    if (found != words_.end()) found->second.paid = found->second.seen;
  }
}

double Profile::share_of_arrivals(u64 from, u64 to) const {
  const auto target = targets_.find(to);
  const auto edge = taken_.find({from, to});
  if (target == targets_.end() || edge == taken_.end()) return 0;
  return static_cast<double>(edge->second) / static_cast<double>(target->second.arrivals);
}

std::vector<u64> Profile::targets_of(u64 from) const {
  struct Seen {
    u64 to, count;
  };
  std::vector<Seen> seen;
  u64 all = 0;
  for (auto at = taken_.lower_bound({from, 0}); at != taken_.end() && at->first.first == from; ++at) {
    seen.push_back({at->first.second, at->second});
    all += at->second;
  }
  std::erase_if(seen, [&](const Seen& one) { return one.count < all / kLeastTargetShare; });
  std::ranges::sort(seen,
                    [](const Seen& a, const Seen& b) { return a.count != b.count ? a.count > b.count : a.to < b.to; });
  std::vector<u64> targets;
  for (const Seen& one : seen) {
    if (targets.size() < kMostTargets) targets.push_back(one.to);
  }
  return targets;
}

std::unordered_set<u64> Profile::busy_pages(double least) const {
  std::unordered_map<u64, double> counts;
  for (const auto& [pc, word] : words_) counts[memory::page_base(pc)] += static_cast<double>(word.seen);
  std::unordered_set<u64> pages;
  for (const auto& [page, count] : counts) {
    if (count >= least * static_cast<double>(past_.runs)) pages.insert(page);
  }
  return pages;
}

void Profile::end_run(double run_seconds, double compile_seconds, double compile_seconds_left) {
  ++past_.runs;
  past_.run_seconds += run_seconds;
  past_.compile_seconds += compile_seconds;
  past_.compile_seconds_left = compile_seconds_left;
  of_new_code_ = 0;
}

// Which code has regions is for the region store to say.
void Profile::write(cache::Writer& to) const {
  struct Kept {
    u64 pc, seen, paid, first_run;
  };
  std::vector<Kept> words;
  for (const auto& [pc, word] : words_) words.push_back({pc, word.seen, word.paid, word.first_run});
  std::ranges::sort(words,
                    [](const Kept& a, const Kept& b) { return a.seen != b.seen ? a.seen > b.seen : a.pc < b.pc; });
  if (words.size() > kMostKept) words.resize(kMostKept);
  struct Edge {
    u64 from, to, count;
  };
  std::vector<Edge> edges;
  for (const auto& [edge, count] : taken_) edges.push_back({edge.first, edge.second, count});
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.count != b.count ? a.count > b.count : std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  if (edges.size() > kMostKept) edges.resize(kMostKept);
  struct StoredTarget {
    u64 pc, arrivals;
    u64 is_entry;
  };
  std::vector<StoredTarget> targets;
  for (const auto& [pc, target] : targets_) targets.push_back({pc, target.arrivals, target.is_entry});
  std::ranges::sort(targets, [](const StoredTarget& a, const StoredTarget& b) {
    return a.arrivals != b.arrivals ? a.arrivals > b.arrivals : a.pc < b.pc;
  });
  if (targets.size() > kMostKept) targets.resize(kMostKept);
  to.put(past_);
  const auto put = [&](const auto& values) {
    to.put(static_cast<u64>(values.size()));
    to.put(values.data(), values.size() * sizeof(values[0]));
  };
  put(words);
  put(edges);
  put(targets);
  std::vector<u64> left_out(left_out_.begin(), left_out_.end());
  std::ranges::sort(left_out);
  put(left_out);
}

bool Profile::read(cache::Reader& from) {
  std::vector<u64> words, edges, targets, left_out;
  const auto get = [&](std::vector<u64>& values, u64 size) {
    u64 count = 0;
    return from.get(count) && count <= kMostKept && from.get(values, count * size);
  };
  Past past;
  if (!from.get(past) || !get(words, 4) || !get(edges, 3) || !get(targets, 3) || !get(left_out, 1)) return false;
  for (const double seconds : {past.run_seconds, past.compile_seconds, past.compile_seconds_left}) {
    if (!std::isfinite(seconds) || seconds < 0) return false;
  }
  past_ = past;
  if (past.runs % kRunsLeftOut != kRunsLeftOut - 1) left_out_.insert(left_out.begin(), left_out.end());
  for (std::size_t i = 0; i < words.size(); i += 4)
    words_[words[i]] = {words[i + 1], std::min(words[i + 1], words[i + 2]), std::min(words[i + 3], past.runs)};
  for (std::size_t i = 0; i < edges.size(); i += 3) taken_[{edges[i], edges[i + 1]}] = edges[i + 2];
  for (std::size_t i = 0; i < targets.size(); i += 3) {
    Target& target = targets_[targets[i]];
    target.arrivals = targets[i + 1];
    target.is_entry = targets[i + 2] != 0;
  }
  return true;
}

}  // namespace kvrm::translator
