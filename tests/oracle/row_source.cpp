// Every implemented row: so many words, so many states a word.
#include <algorithm>

#include "address.h"
#include "source.h"
#include "words.h"

namespace kvrm::oracle {
namespace {

constexpr std::size_t kCasesPerUnit = 8000;

class RowSource : public Source {
 public:
  RowSource(const Table& table, const Memory& memory, const Plan& plan) : table_(table), memory_(memory), plan_(plan) {
    for (uint32_t index = 0; index < table.rows().size(); ++index) {
      const Row& row = table.row(index);
      const bool asked_for = std::find(plan.rows.begin(), plan.rows.end(), row.name) != plan.rows.end();
      if (!row.implemented || (!plan.rows.empty() && !asked_for)) continue;
      for (const uint32_t word : words_of(row, plan.words, combine(plan.seed, row_key(row)))) {
        items_.push_back({index, word});
      }
    }
    const std::size_t per_unit = std::max<std::size_t>(1, kCasesPerUnit / std::max(1u, plan.states));
    for (std::size_t at = 0; at < items_.size(); at += per_unit) starts_.push_back(at);
    starts_.push_back(items_.size());
  }

  std::size_t units() const override { return starts_.size() - 1; }

  Unit unit(std::size_t index) const override {
    Unit unit;
    for (std::size_t at = starts_[index]; at < starts_[index + 1]; ++at) {
      const auto [row, word] = items_[at];
      Group group;
      group.row = row;
      group.words = {word};
      for (unsigned state = 0; state < plan_.states; ++state) group.inputs.push_back(input(row, word, state));
      unit.groups.push_back(std::move(group));
    }
    return unit;
  }

 private:
  struct Item {
    uint32_t row, word;
  };

  // By name, so that a row keeps its cases when others are added.
  static uint64_t row_key(const Row& row) {
    uint64_t key = 0;
    for (const char letter : row.name) key = scramble(key ^ static_cast<unsigned char>(letter));
    return key;
  }

  Input input(uint32_t row, uint32_t word, unsigned state) const {
    Random random(combine(combine(plan_.seed, word), state));
    Input made{random.next() & ~kPointerSeed, {}};
    aim(random, table_.row(row), word, memory_, made);
    return made;
  }

  const Table& table_;
  const Memory& memory_;
  Plan plan_;
  std::vector<Item> items_;
  std::vector<std::size_t> starts_;
};

}  // namespace

std::unique_ptr<Source> row_source(const Table& table, const Memory& memory, const Plan& plan) {
  return std::make_unique<RowSource>(table, memory, plan);
}

}  // namespace kvrm::oracle
