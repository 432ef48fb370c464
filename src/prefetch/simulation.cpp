#include "prefetch/simulation.h"

#include <utility>

#include "prefetch/scheme.h"

namespace kvrm::prefetch {

Knowledge::Knowledge(u32 history_bits)
    : history(std::size_t{1} << history_bits),
      index(std::size_t{1} << history_bits),
      temporal(history.data(), index.data(), history_bits) {}

void Knowledge::observe(const Load& load, bool missed) {
  indirect.observe(load, missed);
  if (!missed) return;
  strides.observe(load);
  best_offset.observe(line_of(load.address));
  temporal.observe(line_of(load.address));
}

Simulation::Simulation(const Settings& settings, Peek peek)
    : settings_(settings), peek_(std::move(peek)), knowledge_(settings.history_bits) {
  const auto fixed = [&](const char* name, Choice choice) {
    schemes_.push_back(std::make_unique<FixedScheme>(name, choice));
  };
  fixed("none", {});
  fixed("next line", {Policy::kNextLine, settings.next_line_level});
  fixed("stride", {Policy::kStride, settings.stride_level});
  schemes_.push_back(std::make_unique<BestOffsetScheme>());
  fixed("temporal", {Policy::kTemporal, settings.temporal_level});
  fixed("indirect", {Policy::kIndirect, settings.indirect_level});
  schemes_.push_back(std::make_unique<CountersScheme>());
  for (std::size_t i = 0; i < settings.networks.size(); ++i) {
    const std::string name = i == 0 ? "network" : "network " + std::to_string(i + 1);
    schemes_.push_back(std::make_unique<NetworkScheme>(name, settings.networks[i]));
  }
  schemes_.push_back(std::make_unique<PerfectScheme>());
}

Simulation::~Simulation() = default;

// An access is about to happen.
void Simulation::count(u64 instructions) {
  if (accesses_++ == settings_.warm_up) {
    totals_ = {};
    for (const auto& scheme : schemes_) scheme->begin_counting();
    first_instruction_ = instructions;
  }
  last_instruction_ = instructions;
}

void Simulation::load(const Load& load, u64 instructions) {
  count(instructions);
  ++totals_.loads;
  const u64 line = line_of(load.address);
  const bool missed = small_.find(line) == nullptr;
  if (missed) {
    small_.insert(line, 0, false);
    ++totals_.misses;
    ++misses_;
  }
  knowledge_.observe(load, missed);
  const Seen seen{load, missed, instructions, misses_, knowledge_, peek_};
  for (const auto& scheme : schemes_) scheme->load(seen);
}

void Simulation::store(u64 address, u64 instructions) {
  count(instructions);
  ++totals_.stores;
  if (small_.find(line_of(address))) return;
  small_.insert(line_of(address), 0, false);
  for (const auto& scheme : schemes_) scheme->store(line_of(address), instructions);
}

Totals Simulation::totals() const {
  Totals result = totals_;
  result.instructions = last_instruction_ - first_instruction_;
  for (const auto& scheme : schemes_) {
    Score& score = result.scores.emplace_back(scheme->score());
    score.cycles += result.instructions * Costs{}.instruction;
  }
  return result;
}

}  // namespace kvrm::prefetch
