#include "unpredictable.h"

#include <csignal>
#include <cstdio>
#include <string_view>

namespace kvrm::oracle {
namespace {

bool starts(const Row& row, std::string_view prefix) { return row.name.starts_with(prefix); }
bool contains(const Row& row, std::string_view part) { return row.name.find(part) != std::string::npos; }

// Both fields exist and name the same register.
bool same(const Row& row, uint32_t word, std::string_view a, std::string_view b) {
  const auto left = row.get(a, word), right = row.get(b, word);
  return left && right && *left == *right;
}

bool same_and_not_sp(const Row& row, uint32_t word, std::string_view a, std::string_view base) {
  return same(row, word, a, base) && row.get(base, word) != 31u;
}

bool load_pair_twice(const Row& row, uint32_t word) {
  const bool is_load_pair = starts(row, "LDP") || starts(row, "LDNP") || starts(row, "LDXP") || starts(row, "LDAXP");
  return is_load_pair && (same(row, word, "Rt", "Rt2") || same(row, word, "Vt", "Vt2"));
}

bool writeback_of_data(const Row& row, uint32_t word) {
  const bool writes_back = row.group == "load_store_indexed" ||
                           (row.group == "load_store_pair" && (contains(row, "_pre") || contains(row, "_post")));
  return writes_back && (same_and_not_sp(row, word, "Rt", "Rn") || same_and_not_sp(row, word, "Rt2", "Rn"));
}

bool status_overlaps(const Row& row, uint32_t word) {
  if (!starts(row, "STX") && !starts(row, "STLX")) return false;
  return same(row, word, "Rs", "Rt") || same(row, word, "Rs", "Rt2") || same_and_not_sp(row, word, "Rs", "Rn");
}

bool branch_to_itself(const Row& row, uint32_t word) {
  if (row.flow != "direct" && row.flow != "conditional" && row.flow != "call") return false;
  for (const Field& field : row.fields) {
    if (field.kind == Field::Kind::kSigned && field.value(word) == 0) return true;
  }
  return false;
}

bool semihosting(const Row& row, uint32_t word) { return row.name == "HLT" && row.get("imm16", word) == 0xf000u; }

bool system_call(const Row& row, uint32_t) { return row.name == "SVC"; }

bool reads_time(const Row& row, uint32_t word) {
  constexpr uint32_t kCntvctEl0 = 1u << 14 | 3u << 11 | 14u << 7 | 0u << 3 | 2u;
  return row.name == "MRS" && row.get("sysreg", word) == kCntvctEl0;
}

// --- quirks ---

bool orders_by_address(const Row& row, uint32_t) { return starts(row, "LDAPR"); }

void fault_if_unaligned(const Row&, uint32_t word, const OracleState& input, Outcome& outcome) {
  const uint32_t base = word >> 5 & 31;
  const uint64_t address = untagged(base == 31 ? input.sp : input.x[base]);
  const uint64_t size = uint64_t{1} << (word >> 30);
  constexpr int kAddressAlignment = 1;
  if (address & (size - 1)) outcome = {SIGBUS, kAddressAlignment, address, input, {}};
}

bool pair_ends_in_zero_register(const Row& row, uint32_t word) {
  return row.name == "CASP" && (word >> 30 & 1) != 0 && row.get("Rs", word) == 30u;
}

bool cleans_to_persistence(const Row& row, uint32_t word) {
  constexpr uint32_t kDcCvap = 3u << 11 | 7u << 7 | 12u << 3 | 1u;
  return row.name == "SYS" && row.get("sysop", word) == kDcCvap;
}

void complete_without_effect(const Row&, uint32_t, const OracleState& input, Outcome& outcome) {
  constexpr int kTrapBreakpoint = 1;
  outcome = {SIGTRAP, kTrapBreakpoint, ORACLE_CODE_ENTRY + 4, input, {}};
  outcome.state.pc = ORACLE_CODE_ENTRY + 4;
}

bool branches_to_register(const Row& row, uint32_t) { return row.group == "branch_register"; }

void check_target_alignment_first(const Row&, uint32_t, const OracleState&, Outcome& outcome) {
  if (outcome.signal == SIGSEGV && outcome.state.pc % 4 != 0) {
    outcome.signal = SIGBUS;
    outcome.code = 1;
  }
}

bool converts_half_to_fixed(const Row& row, uint32_t word) {
  return row.name == "FCVTZS_fixed_sv" && row.get("immh", word) < 4u;
}

void clear_above_half(const Row&, uint32_t word, const OracleState&, Outcome& outcome) {
  if (outcome.signal == SIGTRAP) outcome.state.v[word & 31][0] &= 0xffff;
}

}  // namespace

const std::vector<Quirk>& quirks() {
  static const std::vector<Quirk> kQuirks = {
      {"LDAPR LDAPRB LDAPRH", "the address is not aligned: SIGBUS",
       "an ordered access without FEAT_LSE2 checks alignment (B2.5.2); QEMU 7.2 does not", orders_by_address,
       fault_if_unaligned},
      {"SYS", "DC CVAP: completes", "FEAT_DPB, which HWCAP_DCPOP announces; the user-mode QEMU 7.2 raises SIGILL",
       cleans_to_persistence, complete_without_effect},
      {"BR BLR RET", "the target is unaligned and cannot be fetched: SIGBUS",
       "a PC alignment fault comes before an instruction abort (D1.3.5); QEMU looks up the page first",
       branches_to_register, check_target_alignment_first},
      {"FCVTZS_fixed_sv", "half precision: bits 31..16 are zero",
       "a write of a scalar clears the rest of the register (C7.2, FCVTZS); QEMU 7.2 sign-extends it to 32 bits",
       converts_half_to_fixed, clear_above_half},
  };
  return kQuirks;
}

bool has_quirk(const Row& row, uint32_t word) {
  for (const Quirk& quirk : quirks()) {
    if (quirk.applies(row, word)) return true;
  }
  return false;
}

Outcome corrected(const Row& row, uint32_t word, const OracleState& input, Outcome outcome) {
  for (const Quirk& quirk : quirks()) {
    if (quirk.applies(row, word)) quirk.correct(row, word, input, outcome);
  }
  return outcome;
}

const std::vector<WordRule>& word_rules() {
  static const std::vector<WordRule> kRules = {
      {"LDP* LDNP* LDPSW* LDXP LDAXP", "Rt == Rt2 or Vt == Vt2", "constrained unpredictable (C6.2, LDP: t == t2)",
       load_pair_twice, false},
      {"load/store register and pair, pre- and post-indexed", "Rn == Rt or Rn == Rt2, Rn not SP",
       "constrained unpredictable (C6.2, LDR immediate: wback && n == t)", writeback_of_data, false},
      {"STXR* STLXR* STXP STLXP", "Rs == Rt or Rs == Rt2, or Rs == Rn and Rn not SP",
       "constrained unpredictable (C6.2, STXR: s == t, s == n)", status_overlaps, false},
      {"B B_cond BL CBZ CBNZ TBZ TBNZ", "offset == 0", "a loop that no signal ends: QEMU would never come back",
       branch_to_itself, true},
      {"HLT", "imm16 == 0xf000", "QEMU takes it as a semihosting call", semihosting, true},
      {"SVC", "always", "calls the kernel; tests/linux covers it", system_call, true},
      {"CASP", "sf == 1 and Rs == 30",
       "the pair is X30, XZR; QEMU 7.2 compares with SP and writes SP instead; tests/machine has a test",
       pair_ends_in_zero_register, false},
      {"MRS", "sysreg is CNTVCT_EL0", "reads the time, which differs by nature", reads_time, false},
  };
  return kRules;
}

const WordRule* refused(const Row& row, uint32_t word) {
  for (const WordRule& rule : word_rules()) {
    if (rule.refuses(row, word)) return &rule;
  }
  return nullptr;
}

bool unsafe_to_run(const Row& row, uint32_t word) {
  const WordRule* rule = refused(row, word);
  return rule && rule->unsafe;
}

const std::vector<OutcomeRule>& outcome_rules() {
  static const std::vector<OutcomeRule> kRules = {
      {"a fault in the middle of LDP, STP, a 16-byte store, LDn or STn",
       "our registers and memory must be those before the instruction",
       "QEMU 7.2 has done the elements before the fault; the manual leaves them unknown, our faults are precise"},
      {"a data fault that reaches 2^47 or more and that QEMU reports at address 0", "the address is not compared",
       "a non-canonical address is #GP on an x86-64 host, and the kernel gives QEMU no address"},
      {"an assertion of QEMU's translator fails (SIGABRT)", "the word must be Undefined here",
       "QEMU 7.2 does so on unallocated half-precision words of the two-register group"},
      {"a sequence with exclusive accesses of different sizes", "is not generated",
       "constrained unpredictable (B2.12.5)"},
      {"an exclusive store to address -1", "the input is not used",
       "QEMU marks an empty monitor by that address and takes the store for a match"},
      {"SIGILL", "si_code is not compared", "QEMU says ILL_ILLOPN where Linux says ILL_ILLOPC"},
  };
  return kRules;
}

const std::vector<AllocationException>& allocation_exceptions() {
  static const std::vector<AllocationException> kExceptions = {
      {0xfffffc00, 0x7ef8f800, "FNEG (half precision) is not in the scalar two-register group; QEMU 7.2 runs it"},
      {0xbff8fc00, 0x2f00fc00, "FMOV (vector, immediate, half precision) with op = 1; QEMU 7.2 does not look at op"},
      {0xbf7ffc00, 0x0e70c800, "FMAXNMV, FMINNMV (half precision) with bit 22 set; QEMU 7.2 ignores that bit"},
      {0xbf7ffc00, 0x0e70f800, "FMAXV, FMINV (half precision) with bit 22 set; QEMU 7.2 ignores that bit"},
      {0xff7ffc00, 0x5e70c800, "FMAXNMP, FMINNMP (scalar, half precision) with bit 22 set; QEMU 7.2 ignores that bit"},
      {0xff7ffc00, 0x5e70f800, "FMAXP, FMINP (scalar, half precision) with bit 22 set; QEMU 7.2 ignores that bit"},
      {0xfffffc00, 0x5e70d800, "FADDP (scalar, half precision) with bit 22 set; QEMU 7.2 ignores that bit"},
  };
  return kExceptions;
}

bool accesses_in_parts(const Row& row, uint32_t word) {
  if (row.group == "load_store_pair" || row.group.starts_with("simd_load_store")) return true;
  const auto scale = row.get("scale", word);  // a vector register: QEMU makes two accesses of a 16-byte one
  if (scale && row.get("Vt", word)) return *scale == 4;
  return row.name == "LDR_lit_v" && row.get("opc", word) == 2u;
}

std::string list_rules() {
  std::string text = "Words that are not generated:\n";
  for (const WordRule& rule : word_rules()) {
    text += std::string("  ") + rule.rows + "\n      if " + rule.condition + "\n      " + rule.reason + "\n";
  }
  text += "Outcomes that are checked differently:\n";
  for (const OutcomeRule& rule : outcome_rules()) {
    text += std::string("  ") + rule.when + "\n      " + rule.check + "\n      " + rule.reason + "\n";
  }
  text += "Outcomes of QEMU that are put right first:\n";
  for (const Quirk& quirk : quirks()) {
    text += std::string("  ") + quirk.rows + "\n      " + quirk.condition + "\n      " + quirk.reason + "\n";
  }
  text += "Words that QEMU runs and the manual does not allocate (Undefined here):\n";
  if (allocation_exceptions().empty()) text += "  none\n";
  for (const AllocationException& exception : allocation_exceptions()) {
    char line[64];
    std::snprintf(line, sizeof line, "  word & 0x%08x == 0x%08x\n      ", exception.mask, exception.bits);
    text += std::string(line) + exception.reason + "\n";
  }
  return text;
}

}  // namespace kvrm::oracle
