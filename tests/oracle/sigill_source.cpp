// Words from the whole encoding space: is each an instruction there exactly when it is one here?
#include <algorithm>

#include "source.h"
#include "unpredictable.h"
#include "words.h"

namespace kvrm::oracle {
namespace {

constexpr std::size_t kWordsPerUnit = 8000;

class SigillSource : public Source {
 public:
  SigillSource(const Table& table, const Plan& plan) : table_(table), seed_(combine(plan.seed, 0x5169)) {
    Random random(seed_);
    words_.reserve(plan.samples);
    // Every pattern of the top sixteen bits, as often as half of the sample allows.
    for (uint32_t top = 0; words_.size() < plan.samples / 2; top = (top + 1) & 0xffff) {
      add(top << 16 | (static_cast<uint32_t>(random.next()) & 0xffff));
    }
    while (words_.size() < plan.samples / 4 * 3) add(near_a_row(random));
    while (words_.size() < plan.samples) add(static_cast<uint32_t>(random.next()));
  }

  std::size_t units() const override { return (words_.size() + kWordsPerUnit - 1) / kWordsPerUnit; }

  Unit unit(std::size_t index) const override {
    Unit unit;
    const std::size_t end = std::min(words_.size(), (index + 1) * kWordsPerUnit);
    for (std::size_t at = index * kWordsPerUnit; at < end; ++at) {
      Group group;
      group.row = table_.decode(words_[at]);
      group.allocation_only = true;
      group.words = {words_[at]};
      group.inputs = {{combine(seed_, at) | kPointerSeed, {}}};
      unit.groups.push_back(std::move(group));
    }
    return unit;
  }

 private:
  // One or two bits away from a word of some row: where a pattern is a bit too wide or too narrow.
  uint32_t near_a_row(Random& random) const {
    uint32_t word = draft_word(random, random.pick(table_.rows()));
    for (uint32_t flips = random.below(3); flips > 0; --flips) word ^= 1u << random.below(32);
    return word;
  }

  void add(uint32_t word) {
    const uint32_t row = table_.decode(word);
    if (row == kNoRow || !unsafe_to_run(table_.row(row), word)) words_.push_back(word);
  }

  const Table& table_;
  uint64_t seed_;
  std::vector<uint32_t> words_;
};

}  // namespace

std::unique_ptr<Source> sigill_source(const Table& table, const Plan& plan) {
  return std::make_unique<SigillSource>(table, plan);
}

}  // namespace kvrm::oracle
