#include "words.h"

#include <span>
#include <unordered_set>

#include "format.h"
#include "unpredictable.h"

namespace kvrm::oracle {
namespace {

constexpr uint32_t system_register(uint32_t op1, uint32_t crn, uint32_t crm, uint32_t op2) {
  return 1u << 14 | op1 << 11 | crn << 7 | crm << 3 | op2;
}
constexpr uint32_t system_operation(uint32_t op1, uint32_t crn, uint32_t crm, uint32_t op2) {
  return op1 << 11 | crn << 7 | crm << 3 | op2;
}

// Registers and operations that EL0 may touch, and neighbors of theirs that it may not.
constexpr uint32_t kSystemRegisters[] = {
    system_register(3, 4, 2, 0),   // NZCV
    system_register(3, 4, 4, 0),   // FPCR
    system_register(3, 4, 4, 1),   // FPSR
    system_register(3, 13, 0, 2),  // TPIDR_EL0
    system_register(3, 13, 0, 3),  // TPIDRRO_EL0
    system_register(3, 0, 0, 1),   // CTR_EL0
    system_register(3, 0, 0, 7),   // DCZID_EL0
    system_register(3, 14, 0, 0),  // CNTFRQ_EL0
    system_register(3, 14, 0, 1),  // CNTPCT_EL0
    system_register(3, 14, 3, 1),  // CNTV_CTL_EL0
    system_register(3, 4, 2, 1),   // DAIF
    system_register(3, 4, 2, 5),   // DIT
    system_register(3, 4, 2, 6),   // SSBS
    system_register(3, 9, 13, 0),  // PMCCNTR_EL0
    system_register(0, 0, 0, 0),   // MIDR_EL1
    system_register(0, 0, 0, 5),   // MPIDR_EL1
    system_register(0, 0, 0, 6),   // REVIDR_EL1
    system_register(0, 0, 4, 0),   // ID_AA64PFR0_EL1
    system_register(0, 0, 4, 1),   // ID_AA64PFR1_EL1
    system_register(0, 0, 4, 4),   // ID_AA64ZFR0_EL1
    system_register(0, 0, 5, 0),   // ID_AA64DFR0_EL1
    system_register(0, 0, 5, 1),   // ID_AA64DFR1_EL1
    system_register(0, 0, 6, 0),   // ID_AA64ISAR0_EL1
    system_register(0, 0, 6, 1),   // ID_AA64ISAR1_EL1
    system_register(0, 0, 7, 0),   // ID_AA64MMFR0_EL1
    system_register(0, 0, 7, 1),   // ID_AA64MMFR1_EL1
    system_register(0, 0, 7, 2),   // ID_AA64MMFR2_EL1
    system_register(0, 0, 1, 0),   // ID_PFR0_EL1
    system_register(0, 0, 3, 3),   // reserved ID space
    system_register(0, 1, 0, 0),   // SCTLR_EL1
    system_register(0, 4, 2, 2),   // CurrentEL
};
constexpr uint32_t kSystemOperations[] = {
    system_operation(3, 7, 4, 1),   // DC ZVA
    system_operation(3, 7, 5, 1),   // IC IVAU
    system_operation(3, 7, 10, 1),  // DC CVAC
    system_operation(3, 7, 11, 1),  // DC CVAU
    system_operation(3, 7, 12, 1),  // DC CVAP
    system_operation(3, 7, 13, 1),  // DC CVADP
    system_operation(3, 7, 14, 1),  // DC CIVAC
    system_operation(3, 7, 4, 3),   // DC GVA
    system_operation(0, 7, 5, 0),   // IC IALLU
    system_operation(0, 7, 6, 1),   // DC IVAC
    system_operation(0, 7, 8, 0),   // AT S1E1R
    system_operation(0, 8, 7, 0),   // TLBI VMALLE1
};

// Values that a field of a row should take more often than chance would give.
std::span<const uint32_t> favored_values(const Row& row, const Field& field) {
  if (field.name == "sysreg") return kSystemRegisters;
  if (row.name == "SYS" && field.name == "sysop") return kSystemOperations;
  return {};
}

uint32_t register_number(Random& random, const Row& row, uint32_t word_so_far) {
  const uint32_t kind = random.below(10);
  if (kind < 2) return 31;
  if (kind == 2) return 0;
  if (kind < 5) {
    // The number of another register field: operands that are one register.
    const Field& other = random.pick(row.fields);
    if (other.is_register()) return other.value(word_so_far);
  }
  return random.below(32);
}

// Offsets from the program counter: near ones land in the code area, whose words tell where they are.
uint32_t near_offset(Random& random) {
  constexpr uint32_t kBefore = (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4;
  return random.below(ORACLE_CODE_SIZE / 4) - kBefore;
}

uint32_t immediate(Random& random, const Row& row, const Field& field) {
  const uint32_t ones = field.width == 32 ? ~uint32_t{0} : (uint32_t{1} << field.width) - 1;
  const auto favored = favored_values(row, field);
  if (!favored.empty() && random.chance(75)) return random.pick(favored);
  const bool pc_relative = field.kind == Field::Kind::kSigned && field.width >= 14 && row.group != "pc_relative";
  if (pc_relative && random.chance(60)) return near_offset(random) & ones;
  switch (random.below(8)) {
    case 0: return 0;
    case 1: return ones;
    case 2: return ones >> 1;         // the largest positive, 31 of a shift by 63
    case 3: return (ones >> 1) + 1;   // the smallest negative
    case 4: return random.below(4) & ones;
    default: return static_cast<uint32_t>(random.next()) & ones;
  }
}

}  // namespace

uint32_t draft_word(Random& random, const Row& row) {
  uint32_t word = row.bits | (static_cast<uint32_t>(random.next()) & ~row.mask);
  for (const Field& field : row.fields) {
    const uint32_t value = field.is_register() ? register_number(random, row, word) : immediate(random, row, field);
    word = field.insert(word, value);
  }
  return word;
}

std::vector<uint32_t> words_of(const Row& row, unsigned count, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> words;
  std::unordered_set<uint32_t> seen;
  for (unsigned attempt = 0; words.size() < count && attempt < count * 64; ++attempt) {
    const uint32_t word = draft_word(random, row);
    if (!row.accepts(word) || refused(row, word)) continue;
    if (seen.insert(word).second) words.push_back(word);
  }
  return words;
}

}  // namespace kvrm::oracle
