// What is not compared with QEMU, and why. Every exclusion of the oracle tests is a line of one of these
// lists; `oracle --list-rules` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qemu.h"
#include "table.h"

namespace kvrm::oracle {

// Words of a row that are not generated.
struct WordRule {
  const char* rows;       // for a person
  const char* condition;  // for a person
  const char* reason;
  bool (*refuses)(const Row& row, uint32_t word);
  bool unsafe;  // not even its allocation can be tried out
};
const std::vector<WordRule>& word_rules();

// The first rule that refuses the word, or null.
const WordRule* refused(const Row& row, uint32_t word);
bool unsafe_to_run(const Row& row, uint32_t word);

// Parts of an outcome that are checked in another way than against QEMU's bits.
struct OutcomeRule {
  const char* when;
  const char* check;
  const char* reason;
};
const std::vector<OutcomeRule>& outcome_rules();

// Words that QEMU 7.2 gets wrong in a way the manual settles. Their outcome is put right before it is compared; in
// sequences, where that cannot be done, they do not occur.
struct Quirk {
  const char* rows;
  const char* condition;
  const char* reason;
  bool (*applies)(const Row& row, uint32_t word);
  void (*correct)(const Row& row, uint32_t word, const OracleState& input, Outcome& outcome);
};
const std::vector<Quirk>& quirks();
bool has_quirk(const Row& row, uint32_t word);
// QEMU's outcome of a single word, put right.
Outcome corrected(const Row& row, uint32_t word, const OracleState& input, Outcome outcome);

// An input no exclusive store is given: QEMU marks an empty monitor by this address.
inline constexpr uint64_t kNoExclusiveAddress = ~uint64_t{0};

// An address as the kernel reports it: the top byte goes, unless bit 55 says that it is none of ours.
constexpr uint64_t untagged(uint64_t address) {
  return address >> 55 & 1 ? address : address & ~(uint64_t{0xff} << 56);
}

// Words that QEMU runs and the manual does not allocate; we follow the manual and raise Undefined.
struct AllocationException {
  uint32_t mask, bits;
  const char* reason;
};
const std::vector<AllocationException>& allocation_exceptions();

// A fault in the middle of this row's access may leave QEMU's registers or memory partly changed.
bool accesses_in_parts(const Row& row, uint32_t word);

std::string list_rules();

}  // namespace kvrm::oracle
