#include "prefetch/scheme.h"

namespace kvrm::prefetch {
namespace {

constexpr Costs kCosts;

Hints hints_of(const Seen& seen) {
  const Temporal& temporal = seen.knowledge.temporal;
  return {temporal.knows(), temporal.was_right(), seen.knowledge.indirect.depends(seen.load.pc)};
}

}  // namespace

void Scheme::load(const Seen& seen) {
  now_ = seen.instructions * kCosts.instruction + extra_;
  asked_ = now_;
  if (seen.missed) need(line_of(seen.load.address));
  any(seen);
  if (seen.missed) missed(seen);
}

void Scheme::begin_counting() {
  const std::string name = score_.name;
  score_ = {};
  score_.name = name;
  buffer_ = CacheModel(kSmallBytes, kSmallWays);
  large_.forget_unused();
}

void Scheme::store(u64 line, u64 instructions) {
  now_ = instructions * kCosts.instruction + extra_;
  if (CacheModel::Line* const found = large_.find(line)) {
    found->unused = false;
  } else {
    large_.insert(line, now_, false);
  }
}

// The load waits until the line is there.
void Scheme::need(u64 line) {
  if (CacheModel::Line* const waiting = buffer_.find(line)) {
    ++score_.covered;
    waiting->line = ~u64{0};
  }
  u64 wait = kCosts.near;
  if (CacheModel::Line* const found = large_.find(line)) {
    if (found->unused) {
      ++score_.far_covered;
      if (found->ready <= now_) ++score_.in_time;
      found->unused = false;
    }
    if (found->ready > now_) wait += found->ready - now_;
  } else {
    ++score_.far_misses;
    if (!is_perfect()) wait = kCosts.far;
    large_.insert(line, now_, false);
  }
  extra_ += wait;
  now_ += wait;
  score_.cycles += wait;
}

void Scheme::issue(u64 address) {
  if (address == 0) return;
  const u64 line = line_of(address);
  charge(kCosts.issue);
  if (!buffer_.find(line)) {
    ++score_.issued;
    buffer_.insert(line, 0, true);
  }
  if (large_.find(line)) return;
  ++score_.fetched;
  large_.insert(line, now_ + kCosts.far - kCosts.near, true);
}

void Scheme::apply(const Seen& seen, Choice choice) {
  switch (choice.policy) {
    case Policy::kNextLine: return issue(NextLine::predict(seen.load, choice.level));
    case Policy::kStride: return issue(seen.knowledge.strides.predict(seen.load, choice.level));
    case Policy::kTemporal: return issue(seen.knowledge.temporal.predict(choice.level));
    case Policy::kIndirect:
    case Policy::kNone: return;
  }
}

// --- schemes -------------------------------------------------------------------------------------------------------

void FixedScheme::missed(const Seen& seen) {
  if (choice_.policy == Policy::kNone) return;
  charge(kCosts.apply + (choice_.policy == Policy::kTemporal ? kCosts.history : 0));
  apply(seen, choice_);
}

void FixedScheme::any(const Seen& seen) {
  if (choice_.policy != Policy::kIndirect) return;
  seen.knowledge.indirect.predict(
      seen.load, [&](u64) { return choice_.level; }, seen.peek,
      [&](u64, u64 address) {
        charge(kCosts.peek);
        issue(address);
      });
}

void BestOffsetScheme::missed(const Seen& seen) {
  charge(kCosts.apply);
  issue(seen.knowledge.best_offset.predict(seen.load));
}

void CountersScheme::learn(const Seen& seen) {
  const u64 pc = seen.load.pc;
  const u32 at = static_cast<u32>(now());
  counters_->need(line_of(seen.load.address), static_cast<u32>(asked()));
  const u64 next = NextLine::predict(seen.load, counters_->level(pc, Policy::kNextLine));
  counters_->expect(pc, Policy::kNextLine, line_of(next), at);
  if (const u64 to = seen.knowledge.strides.predict(seen.load, counters_->level(pc, Policy::kStride)))
    counters_->expect(pc, Policy::kStride, line_of(to), at);
  if (const u64 to = seen.knowledge.temporal.predict(counters_->level(pc, Policy::kTemporal)))
    counters_->expect(pc, Policy::kTemporal, line_of(to), at);
}

void CountersScheme::missed(const Seen& seen) {
  if (misses_ % period_ == 0) {
    if (misses_ >= kFirst) period_ = score().issued == issued_before_ ? kLongPeriod : kPeriod;
    issued_before_ = score().issued;
    counters_->forget_expectations();
  }
  if (learns()) {
    charge(kCosts.learn);
    learn(seen);
  }
  ++misses_;
  const Choice choice = counters_->choice(seen.load.pc);
  if (choice.policy == Policy::kNone) return;
  charge(kCosts.apply + (choice.policy == Policy::kTemporal ? kCosts.history : 0));
  apply(seen, choice);
}

void CountersScheme::any(const Seen& seen) {
  const u32 at = static_cast<u32>(now());
  seen.knowledge.indirect.predict(
      seen.load, [&](u64 pc) { return counters_->level(pc, Policy::kIndirect); }, seen.peek,
      [&](u64 pc, u64 address) {
        if (learns()) counters_->expect(pc, Policy::kIndirect, line_of(address), at);
        if (counters_->choice(pc).policy != Policy::kIndirect) return;
        charge(kCosts.peek);
        issue(address);
      });
}

void NetworkScheme::missed(const Seen& seen) {
  Site& site = sites_[seen.load.pc];
  site.window.add(seen.load, seen.instructions, seen.misses, hints_of(seen));
  if (site.window.count() == kFirstQuestion || site.window.count() % kNextQuestion == 0) {
    float window[kWindow][kWindowFeatures];
    site.window.copy(window);
    site.choice = choice_of(neural::ask_oracle(*network_, window));
    any_indirect_ |= site.choice.policy == Policy::kIndirect;
    infer(kCosts.inference);
  }
  if (site.choice.policy == Policy::kNone) return;
  charge(kCosts.apply + (site.choice.policy == Policy::kTemporal ? kCosts.history : 0));
  apply(seen, site.choice);
}

void NetworkScheme::any(const Seen& seen) {
  if (!any_indirect_) return;
  const auto choice_for = [&](u64 pc) {
    const auto found = sites_.find(pc);
    return found == sites_.end() ? Choice{} : found->second.choice;
  };
  seen.knowledge.indirect.predict(
      seen.load, [&](u64 pc) { return choice_for(pc).level; }, seen.peek,
      [&](u64 pc, u64 address) {
        if (choice_for(pc).policy != Policy::kIndirect) return;
        charge(kCosts.peek);
        issue(address);
      });
}

}  // namespace kvrm::prefetch
