#include "machine/gpu_loops.h"

#include <algorithm>
#include <utility>

#include "accelerate/sampled_loops.h"
#include "accelerate/warp_loop.h"
#include "interpreter/freestanding/lane_region.h"

namespace kvrm {

using backend::cuda::LaneSet;
using translator::GpuCodeRange;
using translator::SharedCode;

namespace {

// Proving one takes milliseconds, and lanes wait for it.
constexpr std::size_t kMostLoops = 256, kMostAtATime = 32;
constexpr u64 kFewestSamples = 4, kSmallestShare = 500;
// Launches with samples, and how long lanes run after each.
constexpr std::chrono::milliseconds kSampled{60}, kBetween[] = {std::chrono::seconds(1), std::chrono::seconds(10)};
constexpr u32 kSlice = 4093;

}  // namespace

bool GpuLoops::has_same(const std::vector<SharedCode>& codes) const {
  return std::ranges::equal(codes_, codes, [](const SharedCode& a, const SharedCode& b) {
    return a.start == b.start && a.first_word == b.first_word && std::ranges::equal(a.words, b.words);
  });
}

void GpuLoops::begin(LaneSet& set, std::vector<SharedCode> codes,
                     std::vector<std::shared_ptr<const memory::Image>> images) {
  if (!has_same(codes)) {
    known_.clear();
    launches_ = 0;
  }
  codes_ = std::move(codes);
  images_ = std::move(images);
  set_ = &set;
  installed_.clear();
  can_step_ = set.can_step();
  has_new_ = can_step_ && std::ranges::any_of(known_, [](const auto& known) { return known.second.is_used(); });
  set.set_eager_loops(eager_);
  if (!eager_) return;
  std::size_t words = 0;
  for (const SharedCode& code : codes_) words = std::max(words, code.first_word + code.words.size());
  (void)find(std::vector<u32>(words * interpreter::kSampleKinds, 1));
}

// Gives whether it is proved.
bool GpuLoops::propose(const SharedCode& code, u32 head, u32 branch, u64 samples) {
  Known& known = known_[code.first_word + head];
  if (known.words == 0) {
    known.start = code.start;
    known.words = static_cast<u32>(code.words.size());
    const auto words = code.words.subspan(head, branch - head + 1);
    known.code = {code.start + u64{head} * 4, {words.begin(), words.end()}};
    known.proven = loops_->prove(known.code);
    std::string refusal;
    if (known.proven && accelerate::make_warp_loop(known.proven->program(), 0, refusal).empty()) known.proven = nullptr;
    loops_->add_found(1, 0);
    has_new_ |= known.proven != nullptr;
  }
  // As traces count: how often its branch was there.
  const u64 body = known.code.words.size();
  loops_->report(known.code, {.samples = (samples + body - 1) / body});
  return known.proven != nullptr;
}

std::vector<GpuCodeRange> GpuLoops::find(std::span<const u32> samples) {
  std::vector<GpuCodeRange> ranges;
  if (!can_step_) return ranges;
  struct Candidate {
    const SharedCode* code;
    accelerate::SampledLoop loop;
  };
  std::vector<Candidate> candidates;
  u64 all = 0;
  const std::size_t words = samples.size() / interpreter::kSampleKinds;
  for (const SharedCode& code : codes_) {
    if (code.first_word + code.words.size() > words) continue;
    std::vector<u64> counts(code.words.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (u32 kind = 0; kind < interpreter::kSampleCounts; ++kind)
        counts[i] += samples[kind * words + code.first_word + i];
      all += counts[i];
    }
    for (const auto& loop : accelerate::sampled_loops(code.words, code.start, counts))
      candidates.push_back({&code, loop});
  }
  loops_->add_found(0, all);
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.loop.samples != b.loop.samples) return a.loop.samples > b.loop.samples;
    return a.code->first_word + a.loop.head < b.code->first_word + b.loop.head;
  });
  if (candidates.size() > kMostAtATime && !eager_) candidates.resize(kMostAtATime);
  for (const auto& [code, loop] : candidates) {
    const bool is_hot = eager_ || (loop.samples >= kFewestSamples && loop.samples * kSmallestShare >= all);
    if (is_hot && known_.size() < kMostLoops) (void)propose(*code, loop.head, loop.branch, loop.samples);
  }
  give_up_short_loops();
  for (const auto& [head, known] : known_) {
    if (known.is_used()) ranges.push_back({0, head, head + static_cast<u32>(known.code.words.size())});
  }
  return ranges;
}

// Where lanes left a loop out more than once, and its steps are short, it is better off inside a region: coming by its
// head costs a few hundred cycles.
void GpuLoops::give_up_short_loops() {
  constexpr u64 kLeftOut = 2, kShort = 256;
  if (eager_ || installed_.empty() || !count(*set_)) return;
  for (auto& [head, known] : known_) {
    if (!known.is_used() || known.left_out < kLeftOut) continue;
    known.is_given_up = known.iterations * known.code.words.size() <= kShort * known.steps;
    has_new_ |= known.is_given_up;
  }
}

Result<void> GpuLoops::install(LaneSet& set) {
  if (!std::exchange(has_new_, false)) return {};
  if (auto counted = count(set); !counted) return counted;
  std::vector<LaneSet::Loop> list;
  installed_.clear();
  for (const auto& [head, known] : known_) {
    if (!known.is_used()) continue;
    list.push_back({&known.proven->program(), known.start, known.words, head});
    installed_.push_back(head);
  }
  return set.install_loops(list);
}

Result<void> GpuLoops::count(LaneSet& set) {
  auto counts = set.take_loop_counts();
  if (!counts) return counts.error();
  for (std::size_t i = 0; i < std::min(counts->size(), installed_.size()); ++i) {
    const auto& [steps, iterations, left_out] = (*counts)[i];
    Known& known = known_[installed_[i]];
    known.steps += steps;
    known.iterations += iterations;
    known.left_out += left_out;
    loops_->report(known.code, {.steps = steps,
                                .iterations = iterations,
                                .instructions = iterations * known.code.words.size(),
                                .left_out = left_out != 0});
  }
  return {};
}

LaneSet::Slice GpuLoops::next(std::chrono::milliseconds limit) const {
  LaneSet::Slice slice{limit, LaneSet::kSlice, false};
  const u32 round = launches_ / 2;
  if (!can_step_ || round > std::size(kBetween)) return slice;
  const bool samples = launches_ % 2 == 0;
  if (!samples && round == std::size(kBetween)) return slice;
  slice.time = samples ? kSampled : kBetween[round];
  if (limit.count() != 0) slice.time = std::min(slice.time, limit);
  if (samples) slice.length = kSlice;
  slice.counts = samples;
  return slice;
}

Result<LaneSet::Slice> GpuLoops::paused(LaneSet& set, std::chrono::milliseconds limit) {
  const bool sampled = next(limit).counts;
  ++launches_;
  if (sampled) {
    auto samples = set.samples();
    if (!samples) return samples.error();
    (void)find(*samples);
    if (auto installed = install(set); !installed) return installed.error();
  }
  return next(limit);
}

}  // namespace kvrm
