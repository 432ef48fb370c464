// Sequences written by hand: the exclusive monitor and what touches it, and chains of flags.
#include <initializer_list>

#include "random.h"
#include "source.h"

namespace kvrm::oracle {
namespace {

// x1: the address; x2: another address; x3: the first with a tag; x4: one in the read-only page.
// x10, x11: what the exclusive load brings; x12, x13: what is stored; x20 and on: status results.
struct Exclusive {
  std::string load, store;  // row names
  uint32_t size_bit;        // sf, where the row has one
};

constexpr uint32_t kFive = 31;

class Writer {
 public:
  Writer(const Table& table, const Exclusive& exclusive) : table_(table), exclusive_(exclusive) {}

  uint32_t load(uint32_t base) const {
    return table_.word(exclusive_.load, {{"sf", exclusive_.size_bit},
                                         {"sbo", kFive},
                                         {"sbo1", kFive},
                                         {"sbo2", kFive},
                                         {"Rn", base},
                                         {"Rt", 10},
                                         {"Rt2", 11}});
  }
  uint32_t store(uint32_t base, uint32_t status, uint32_t data = 12) const {
    return table_.word(
        exclusive_.store,
        {{"sf", exclusive_.size_bit}, {"sbo", kFive}, {"Rs", status}, {"Rn", base}, {"Rt", data}, {"Rt2", data + 1}});
  }
  uint32_t clear() const { return table_.word("CLREX", {{"CRm", 15}}); }
  uint32_t plain_load(uint32_t base) const { return table_.word("LDR_imm", {{"sf", 1}, {"Rn", base}, {"Rt", 14}}); }
  uint32_t plain_store(uint32_t base, uint32_t data) const {
    return table_.word("STRB_imm", {{"Rn", base}, {"Rt", data}});
  }
  uint32_t atomic_add(uint32_t base, uint32_t addend) const {
    return table_.word("LDADD", {{"size", 0}, {"Rs", addend}, {"Rn", base}, {"Rt", 15}});
  }
  uint32_t zero_line(uint32_t base) const {
    constexpr uint32_t kDcZva = 3u << 11 | 7u << 7 | 4u << 3 | 1u;
    return table_.word("SYS", {{"sysop", kDcZva}, {"Rt", base}});
  }
  uint32_t skip_if_failed(uint32_t status) const { return table_.word("CBNZ", {{"simm19", 2}, {"Rt", status}}); }
  uint32_t barrier() const { return table_.word("DMB", {{"CRm", 11}}); }

 private:
  const Table& table_;
  const Exclusive& exclusive_;
};

std::vector<std::vector<uint32_t>> exclusive_stories(const Writer& w) {
  return {
      {w.load(1), w.store(1, 20)},
      {w.load(1), w.store(2, 20)},
      {w.load(1), w.clear(), w.store(1, 20)},
      {w.load(1), w.store(1, 20), w.store(1, 21)},
      {w.load(1), w.store(2, 20), w.store(1, 21)},
      {w.load(1), w.load(2), w.store(1, 20)},
      {w.load(1), w.load(2), w.store(2, 20)},
      {w.load(1), w.load(1), w.store(1, 20)},
      {w.load(1), w.plain_store(1, 12), w.store(1, 20)},
      {w.load(1), w.plain_store(1, 10), w.store(1, 20)},  // the byte that is there already
      {w.load(1), w.plain_store(2, 12), w.store(1, 20)},
      {w.load(1), w.plain_load(1), w.plain_load(2), w.store(1, 20)},
      {w.load(1), w.atomic_add(1, 12), w.store(1, 20)},
      {w.load(1), w.atomic_add(1, 31), w.store(1, 20)},  // adds zero: the value stays
      {w.load(1), w.zero_line(1), w.store(1, 20)},
      {w.load(1), w.zero_line(2), w.store(1, 20)},
      {w.load(1), w.store(3, 20)},  // the tag does not count
      {w.load(3), w.store(1, 20)},
      {w.load(4), w.store(4, 20)},  // read-only
      {w.load(1), w.store(4, 20)},
      {w.store(1, 20), w.load(1), w.store(1, 21)},
      {w.load(1), w.barrier(), w.store(1, 20), w.skip_if_failed(20), w.store(1, 21), w.plain_load(1)},
      {w.load(1), w.store(1, 20, 10), w.load(1), w.store(1, 21)},
      {w.load(1), w.store(1, 31), w.plain_load(1)},
  };
}

const std::vector<Exclusive>& exclusives() {
  static const std::vector<Exclusive> kExclusives = {
      {"LDXRB", "STXRB", 0}, {"LDAXRB", "STLXRB", 0}, {"LDXRH", "STXRH", 0}, {"LDAXRH", "STLXRH", 0},
      {"LDXR", "STXR", 0},   {"LDXR", "STXR", 1},     {"LDAXR", "STLXR", 0}, {"LDAXR", "STLXR", 1},
      {"LDXP", "STXP", 0},   {"LDXP", "STXP", 1},     {"LDAXP", "STLXP", 0}, {"LDAXP", "STLXP", 1},
      {"LDAXR", "STXR", 1},  {"LDXR", "STLXR", 1},
  };
  return kExclusives;
}

Input exclusive_input(Random& random) {
  Input input{random.next() & ~kPointerSeed, {}};
  const uint64_t address = ORACLE_DATA_BASE + 16 * random.below(0x1f0);
  // Now and then unaligned, to see which comes first: the monitor or the alignment.
  const uint64_t skew = random.chance(10) ? 1 + random.below(15) : 0;
  input.set(1, address + skew);
  input.set(2, address + (random.chance(50) ? 16 : 0x100));
  input.set(3, (address + skew) | random.next() << 56);
  input.set(4, ORACLE_DATA_BASE + ORACLE_PAGE_READ_ONLY * ORACLE_PAGE + 16 * random.below(0xf0));
  return input;
}

std::vector<std::vector<uint32_t>> flag_chains(const Table& table) {
  const auto op = [&](const char* row, uint32_t sf, uint32_t rd, uint32_t rn, uint32_t rm) {
    return table.word(row, {{"sf", sf}, {"Rd", rd}, {"Rn", rn}, {"Rm", rm}});
  };
  const auto select = [&](const char* row, uint32_t sf, uint32_t cond) {
    return table.word(row, {{"sf", sf}, {"cond", cond}, {"Rd", 9 + cond}, {"Rn", 1}, {"Rm", 2}});
  };
  std::vector<std::vector<uint32_t>> chains;
  for (uint32_t sf = 0; sf < 2; ++sf) {
    // A 192-bit addition and subtraction.
    chains.push_back({op("ADDS_shift", sf, 10, 1, 4), op("ADCS", sf, 11, 2, 5), op("ADC", sf, 12, 3, 6)});
    chains.push_back({op("SUBS_shift", sf, 10, 1, 4), op("SBCS", sf, 11, 2, 5), op("SBC", sf, 12, 3, 6)});
    for (const char* compare : {"ADDS_shift", "SUBS_shift", "ANDS_shift", "BICS_shift"}) {
      std::vector<uint32_t> chain = {op(compare, sf, 31, 1, 2)};
      for (uint32_t cond = 0; cond < 16; ++cond) chain.push_back(select("CSINC", 1, cond));
      chains.push_back(chain);
    }
    for (uint32_t cond = 0; cond < 16; ++cond) {
      const uint32_t again =
          table.word("CCMP_reg", {{"sf", sf}, {"cond", cond}, {"nzcv", cond ^ 5}, {"Rn", 3}, {"Rm", 4}});
      const uint32_t twice =
          table.word("CCMN_imm", {{"sf", sf}, {"cond", cond ^ 1}, {"nzcv", cond}, {"Rn", 5}, {"imm5", cond + 9}});
      chains.push_back(
          {op("SUBS_shift", sf, 31, 1, 2), again, select("CSNEG", sf, cond), twice, select("CSINV", sf, 8)});
    }
  }
  return chains;
}

}  // namespace

std::vector<Group> written_sequences(const Table& table, unsigned states, uint64_t seed) {
  Random random(combine(seed, 0x3173));
  std::vector<Group> groups;
  const auto add = [&](std::vector<uint32_t> words, bool exclusive) {
    Group group;
    group.row = kNoRow;
    group.words = std::move(words);
    for (unsigned state = 0; state < states; ++state) {
      group.inputs.push_back(exclusive ? exclusive_input(random) : Input{random.next() & ~kPointerSeed, {}});
    }
    groups.push_back(std::move(group));
  };
  for (const Exclusive& exclusive : exclusives()) {
    for (auto& words : exclusive_stories(Writer(table, exclusive))) add(std::move(words), true);
  }
  for (auto& words : flag_chains(table)) add(std::move(words), false);
  return groups;
}

}  // namespace kvrm::oracle
