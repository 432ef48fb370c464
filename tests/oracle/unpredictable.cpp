#include "unpredictable.h"

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

}  // namespace

const std::vector<WordRule>& word_rules() {
  static const std::vector<WordRule> kRules = {
      {"LDP* LDNP* LDPSW* LDXP LDAXP", "Rt == Rt2 or Vt == Vt2",
       "constrained unpredictable (C6.2, LDP: t == t2)", load_pair_twice, false},
      {"load/store register and pair, pre- and post-indexed", "Rn == Rt or Rn == Rt2, Rn not SP",
       "constrained unpredictable (C6.2, LDR immediate: wback && n == t)", writeback_of_data, false},
      {"STXR* STLXR* STXP STLXP", "Rs == Rt or Rs == Rt2, or Rs == Rn and Rn not SP",
       "constrained unpredictable (C6.2, STXR: s == t, s == n)", status_overlaps, false},
      {"B B_cond BL CBZ CBNZ TBZ TBNZ", "offset == 0", "a loop that no signal ends: QEMU would never come back",
       branch_to_itself, true},
      {"HLT", "imm16 == 0xf000", "QEMU takes it as a semihosting call", semihosting, true},
      {"SVC", "always", "calls the kernel; tests/linux covers it", system_call, true},
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
      {"a data fault at or above 2^47 that QEMU reports at address 0", "the address is not compared",
       "a non-canonical address is #GP on an x86-64 host, and the kernel gives QEMU no address"},
      {"an assertion of QEMU's translator fails (SIGABRT)", "the word must be Undefined here",
       "QEMU 7.2 does so on unallocated half-precision words of the two-register group"},
      {"SIGILL", "si_code is not compared", "QEMU says ILL_ILLOPN where Linux says ILL_ILLOPC"},
  };
  return kRules;
}

const std::vector<AllocationException>& allocation_exceptions() {
  static const std::vector<AllocationException> kExceptions = {
      {0xfffffc00, 0x7ef8f800, "FNEG (half precision) does not exist in the scalar two-register group; QEMU 7.2 runs it"},
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
