#include "prefetch/recorder.h"

#include <algorithm>
#include <utility>

#include "prefetch/freestanding/next_line.h"

namespace kvrm::prefetch {
namespace {

constexpr Costs kCosts;
constexpr u32 kWindowFloats = kWindow * kWindowFeatures;

constexpr u32 option_of(Policy policy, u32 level) { return static_cast<u32>(policy) * kLevels + level; }

}  // namespace

Recorder::Recorder(Peek peek, u32 history_bits)
    : peek_(std::move(peek)), knowledge_(history_bits), expected_(std::size_t{kOptions} << kTableBits) {}

Recorder::Expected& Recorder::expected(u32 option, u64 line) {
  return expected_[(std::size_t{option} << kTableBits) + slot_of(line, kTableBits)];
}

// A miss that was expected: the part of its time that had passed since then is saved.
void Recorder::need(Site& site, u64 line, u64 now) {
  for (u32 option = 0; option < kOptions; ++option) {
    Expected& found = expected(option, line);
    if (found.line != line || found.site == nullptr) continue;
    const u64 age = now - found.since, most = kCosts.far - kCosts.near;
    if (found.site->left != 0 && found.site == &site) {
      const float saved = static_cast<float>(std::min(age, most)) / static_cast<float>(most);
      site.pending[kWindowFloats + option] += saved / kFollowing;
    }
    found.site = nullptr;
  }
}

void Recorder::expect(Site& site, Policy policy, u32 level, u64 address, u64 now) {
  if (address == 0) return;
  const u32 option = option_of(policy, level);
  Expected& at = expected(option, line_of(address));
  if (at.site != nullptr && at.line == line_of(address)) return;
  at = {line_of(address), now, &site};
  if (site.left != 0) site.pending[kWindowFloats + kOptions + option] += 1.0f / kFollowing;
}

// After a miss of the load: completes a record, or begins one.
void Recorder::advance(Site& site) {
  if (site.left != 0) {
    if (--site.left == 0) records_.insert(records_.end(), site.pending, site.pending + kRecord);
  } else if (site.window.count() >= site.next_record) {
    float window[kWindow][kWindowFeatures];
    site.window.copy(window);
    std::fill(std::begin(site.pending), std::end(site.pending), 0.0f);
    std::copy(&window[0][0], &window[0][0] + kWindowFloats, site.pending);
    site.pending[kRecord - 1] = static_cast<float>(site.window.count());
    site.left = kFollowing;
    // Loads that miss often give more records, but not as many more.
    site.next_record = site.window.count() + std::max<u64>(kFollowing + 16, site.window.count() / 20);
  }
}

void Recorder::store(u64 address) {
  if (!small_.find(line_of(address))) small_.insert(line_of(address), 0, false);
}

void Recorder::load(const Load& load, u64 instructions) {
  const u64 line = line_of(load.address), now = instructions * kCosts.instruction;
  const bool missed = small_.find(line) == nullptr;
  knowledge_.observe(load, missed);
  for (u32 level = 0; level < kLevels; ++level) {
    knowledge_.indirect.predict(
        load, [&](u64) { return level; }, peek_,
        [&](u64 dependent, u64 to) { expect(sites_[dependent], Policy::kIndirect, level, to, now); });
  }
  if (!missed) return;
  small_.insert(line, 0, false);
  ++misses_;
  Site& site = sites_[load.pc];
  need(site, line, now);
  for (u32 level = 0; level < kLevels; ++level) {
    expect(site, Policy::kNextLine, level, NextLine::predict(load, level), now);
    expect(site, Policy::kStride, level, knowledge_.strides.predict(load, level), now);
    expect(site, Policy::kTemporal, level, knowledge_.temporal.predict(level), now);
  }
  const Temporal& temporal = knowledge_.temporal;
  site.window.add(load, instructions, misses_,
                  {temporal.knows(), temporal.was_right(), knowledge_.indirect.depends(load.pc)});
  advance(site);
}

}  // namespace kvrm::prefetch
