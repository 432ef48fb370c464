// Several words a case: state that one instruction leaves to the next.
#include <algorithm>
#include <optional>

#include "address.h"
#include "source.h"
#include "unpredictable.h"
#include "words.h"

namespace kvrm::oracle {
namespace {

// In a random sequence x26..x29 and SP hold addresses and x30 a small index; the other words keep off them.
constexpr uint32_t kFirstBase = 26, kIndex = 30, kFreeRegisters = 26;

uint32_t base_register(Random& random) {
  const uint32_t choice = kFirstBase + random.below(5);
  return choice == kIndex ? 31 : choice;
}

uint32_t free_register(Random& random, const Field& field) {
  if (field.kind == Field::Kind::kGeneral && random.chance(10)) return 31;
  return random.below(kFreeRegisters);
}

uint32_t arrange_registers(Random& random, const Row& row, uint32_t word) {
  const auto form = address_form(row, word);
  for (const Field& field : row.fields) {
    if (field.name == "imm12" && form) word = field.insert(word, random.below(16));
    if (!field.is_register() || field.kind == Field::Kind::kVector) continue;
    uint32_t number = free_register(random, field);
    if (form && field.name == "Rn") number = base_register(random);
    if (form && field.name == "Rm") number = random.chance(30) ? 31 : kIndex;
    if (row.name == "SYS") number = kFirstBase + random.below(4);
    if (row.name == "CASP" && field.name != "Rn") number &= 30;
    word = field.insert(word, number);
  }
  return word;
}

// A branch goes forward, at most to the word after the sequence, so that every sequence ends.
uint32_t arrange_branch(Random& random, const Row& row, uint32_t word, unsigned words_left) {
  for (const Field& field : row.fields) {
    if (field.kind == Field::Kind::kSigned) word = field.insert(word, 1 + random.below(words_left));
  }
  return word;
}

// An exclusive store after an exclusive load of another size is constrained unpredictable (B2.12.5), so all
// exclusives of a sequence have one size. No value: the word is none.
std::optional<uint32_t> exclusive_size(const Row& row, uint32_t word) {
  if (row.group != "load_store_exclusive") return std::nullopt;
  return word >> 30 << 1 | (word >> 21 & 1);
}

bool fits_in_sequence(const Row& row) { return row.flow == "next" || row.flow == "conditional"; }

class SequenceSource : public Source {
 public:
  SequenceSource(const Table& table, const Plan& plan)
      : table_(table), plan_(plan), written_(written_sequences(table, kStates, plan.seed)) {
    for (uint32_t index = 0; index < table.rows().size(); ++index) {
      if (table.row(index).implemented && fits_in_sequence(table.row(index))) rows_.push_back(index);
    }
    if (rows_.empty()) plan_.sequences = 0;
  }

  std::size_t units() const override { return 1 + (plan_.sequences + kPerUnit - 1) / kPerUnit; }

  Unit unit(std::size_t index) const override {
    Unit unit;
    if (index == 0) {
      unit.groups = written_;
      return unit;
    }
    const std::size_t end = std::min<std::size_t>(plan_.sequences, index * kPerUnit);
    for (std::size_t at = (index - 1) * kPerUnit; at < end; ++at) {
      const uint64_t seed = combine(combine(plan_.seed, 0x5e9), at);
      // Short ones are easy to read, long ones go deep.
      const unsigned length = 2 + static_cast<unsigned>(scramble(seed) % (at % 4 == 0 ? 63 : 11));
      unit.groups.push_back(random_sequence(table_, rows_, length, kStates, seed));
    }
    return unit;
  }

 private:
  static constexpr unsigned kStates = 20;
  static constexpr std::size_t kPerUnit = 200;

  const Table& table_;
  Plan plan_;
  std::vector<Group> written_;
  std::vector<uint32_t> rows_;
};

}  // namespace

Group random_sequence(const Table& table, const std::vector<uint32_t>& rows, unsigned length, unsigned states,
                      uint64_t seed) {
  Random random(seed);
  Group group;
  group.row = kNoRow;
  std::optional<uint32_t> size;
  for (unsigned i = 0; i < length;) {
    const Row& row = table.row(random.pick(rows));
    uint32_t word = arrange_registers(random, row, draft_word(random, row));
    if (row.flow == "conditional") word = arrange_branch(random, row, word, length - i);
    if (!row.accepts(word) || refused(row, word) || has_quirk(row, word)) continue;
    if (const auto own = exclusive_size(row, word)) {
      if (size && *size != *own) continue;
      size = own;
    }
    group.words.push_back(word);
    ++i;
  }
  for (unsigned state = 0; state < states; ++state) {
    Input input{random.next() & ~kPointerSeed, {}};
    for (uint32_t base = kFirstBase; base <= kSlotSp; ++base) {
      if (base == kIndex) continue;
      const uint64_t address = ORACLE_DATA_BASE + 0x600 + random.below(0x1400);
      input.set(base, random.chance(80) ? address & ~uint64_t{15} : address);
    }
    input.set(kIndex, random.below(64));
    group.inputs.push_back(std::move(input));
  }
  return group;
}

std::unique_ptr<Source> sequence_source(const Table& table, const Plan& plan) {
  return std::make_unique<SequenceSource>(table, plan);
}

}  // namespace kvrm::oracle
