// Bit for bit: what QEMU shows against what our machine shows.
#pragma once

#include <string>
#include <vector>

#include "case.h"
#include "qemu.h"
#include "subject.h"
#include "table.h"

namespace kvrm::oracle {

// One line for every difference; none: the case passed.
std::vector<std::string> differences(const Table& table, const Group& group, const OracleState& input,
                                     const Outcome& expected, const Subject::Ran& actual);

// The same for two that must agree in everything: two runs of QEMU, or two of our devices.
std::vector<std::string> differences(const Subject::Ran& first, const Subject::Ran& second);

struct Mismatch {
  Group group;  // with the one input
  Outcome expected;
  Subject::Ran actual;
  std::vector<std::string> differences;
};

// The whole story of a mismatch, for a person.
std::string describe(const Table& table, const Mismatch& mismatch, uint64_t memory_seed, const std::string& command);

std::string describe_outcome(const Outcome& outcome);
std::string describe_words(const Table& table, const std::vector<uint32_t>& words);

}  // namespace kvrm::oracle
