#include "compare.h"

#include <csignal>
#include <cstdio>
#include <set>

#include "unpredictable.h"

namespace kvrm::oracle {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The word of the case at an address, or the filler there.
uint32_t word_at(const Group& group, uint64_t pc) {
  const uint64_t index = (pc - ORACLE_CODE_ENTRY) / 4;
  if (index < group.words.size()) return group.words[index];
  return ORACLE_FILLER((pc - ORACLE_CODE_BASE) / 4);
}

bool inside_case(const Group& group, uint64_t pc) { return (pc - ORACLE_CODE_ENTRY) / 4 < group.words.size(); }

// A fault in a row that QEMU does element by element (outcome_rules).
bool faults_in_parts(const Table& table, const Group& group, const Outcome& expected) {
  if (expected.signal != SIGSEGV || !inside_case(group, expected.state.pc)) return false;
  const uint32_t word = word_at(group, expected.state.pc);
  const uint32_t row = table.decode(word);
  return row != kNoRow && accesses_in_parts(table.row(row), word);
}

bool has_no_branch(const Table& table, const Group& group) {
  for (const uint32_t word : group.words) {
    const uint32_t row = table.decode(word);
    if (row == kNoRow || table.row(row).flow != "next") return false;
  }
  return true;
}

class Differences {
 public:
  void add(const std::string& what, const std::string& expected, const std::string& actual) {
    lines_.push_back(what + ": QEMU " + expected + ", kvrm " + actual);
  }
  void numbers(const std::string& what, uint64_t expected, uint64_t actual) {
    if (expected != actual) add(what, hex(expected), hex(actual));
  }
  void states(const OracleState& expected, const OracleState& actual, unsigned slots) {
    for (unsigned slot = 0; slot < slots; ++slot) {
      numbers(slot_name(slot), slot_value(expected, slot), slot_value(actual, slot));
    }
  }
  void memory(const std::vector<OracleBlock>& expected, const std::vector<OracleBlock>& actual);
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

std::string block_text(const OracleBlock* block) {
  if (!block) return "unchanged";
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(block->bytes[1]),
                static_cast<unsigned long long>(block->bytes[0]));
  return text;
}

void Differences::memory(const std::vector<OracleBlock>& expected, const std::vector<OracleBlock>& actual) {
  std::size_t e = 0, a = 0;
  while (e < expected.size() || a < actual.size()) {
    const OracleBlock* left = e < expected.size() ? &expected[e] : nullptr;
    const OracleBlock* right = a < actual.size() ? &actual[a] : nullptr;
    if (left && right && left->offset != right->offset) (left->offset < right->offset ? right : left) = nullptr;
    e += left != nullptr;
    a += right != nullptr;
    if (left && right && left->bytes[0] == right->bytes[0] && left->bytes[1] == right->bytes[1]) continue;
    const uint64_t offset = left ? left->offset : right->offset;
    add("memory at " + hex(ORACLE_DATA_BASE + offset), block_text(left), block_text(right));
  }
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGTRAP: return "SIGTRAP";
    case SIGILL: return "SIGILL";
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGABRT: return "a failed assertion of QEMU";
    default: return "no signal";
  }
}

bool undefined_at_entry(const Outcome& outcome) {
  return outcome.signal == SIGILL && outcome.state.pc == ORACLE_CODE_ENTRY;
}

// The word is an instruction there exactly when it is one here. Rows without a meaning yet are asked of the table.
std::vector<std::string> allocation_differences(const Table& table, const Group& group, const Outcome& expected,
                                                const Subject::Ran& actual) {
  const uint32_t word = group.words[0];
  const uint32_t row = table.decode(word);
  bool there = !undefined_at_entry(expected) && expected.signal != SIGABRT;
  if (row != kNoRow && has_quirk(table.row(row), word)) there = true;
  for (const AllocationException& exception : allocation_exceptions()) {
    if ((word & exception.mask) == exception.bits) there = false;
  }
  bool here = !undefined_at_entry(actual.outcome);
  if (row != kNoRow && !table.row(row).implemented) here = true;
  if (row == kNoRow && here) return {"the table has no row for it, but kvrm did not raise Undefined"};
  if (there == here) return {};
  return {std::string("allocation: QEMU ") + (there ? "runs it" : "raises SIGILL") + ", kvrm " +
          (here ? "has it as " + table.row(row).name : "raises Undefined")};
}

void compare_end(const Group& group, const Outcome& expected, const Subject::Ran& actual, Differences& found) {
  const Outcome& ours = actual.outcome;
  if (expected.signal != ours.signal) {
    found.add("ends with", signal_name(expected.signal),
              std::string(signal_name(ours.signal)) + " (" + to_string(actual.stop.reason) + ")");
    return;
  }
  if (expected.signal != SIGILL) {
    found.numbers("si_code", static_cast<uint64_t>(expected.code), static_cast<uint64_t>(ours.code));
  }
  const bool is_fault = expected.signal == SIGSEGV || expected.signal == SIGBUS;
  constexpr uint64_t kLongestAccess = 64;
  const bool hidden = expected.fault_address == 0 && (ours.fault_address + kLongestAccess) >> 47 != 0;
  if (is_fault && !hidden) found.numbers("fault address", expected.fault_address, ours.fault_address);
  if (actual.stop.reason == StopReason::kBreakpoint || actual.stop.reason == StopReason::kHalt) {
    const uint32_t immediate = word_at(group, ours.state.pc) >> 5 & 0xffff;
    if (actual.stop.address != immediate) found.add("immediate", hex(immediate), hex(actual.stop.address));
  }
}

}  // namespace

std::vector<std::string> differences(const Table& table, const Group& group, const OracleState& input,
                                     const Outcome& shown, const Subject::Ran& actual) {
  if (group.allocation_only) return allocation_differences(table, group, shown, actual);
  const bool single = group.words.size() == 1 && group.row != kNoRow;
  const Outcome expected = single ? corrected(table.row(group.row), group.words[0], input, shown) : shown;
  Differences found;
  const Outcome& ours = actual.outcome;
  compare_end(group, expected, actual, found);
  found.numbers("pc", expected.state.pc, ours.state.pc);
  const bool in_parts = faults_in_parts(table, group, expected);
  if (in_parts && group.words.size() == 1) {
    found.states(input, ours.state, kSlotCount);
    found.memory({}, ours.blocks);
  } else {
    // In a sequence the state before the faulting word is not known for what QEMU may have half done.
    found.states(expected.state, ours.state, in_parts ? unsigned{kSlotV} : unsigned{kSlotCount});
    if (!in_parts) found.memory(expected.blocks, ours.blocks);
  }
  const uint64_t retired = (expected.state.pc - ORACLE_CODE_ENTRY) / 4;
  if (group.words.size() == 1) {
    found.numbers("retired instructions", expected.state.pc == ORACLE_CODE_ENTRY ? 0 : 1, actual.retired);
  } else if (has_no_branch(table, group)) {
    found.numbers("retired instructions", retired, actual.retired);
  }
  return found.take();
}

std::vector<std::string> differences(const Subject::Ran& first, const Subject::Ran& second) {
  const Outcome &left = first.outcome, &right = second.outcome;
  Differences found;
  if (first.stop.reason != second.stop.reason) {
    found.add("ends with", to_string(first.stop.reason), to_string(second.stop.reason));
  }
  found.numbers("signal", static_cast<uint64_t>(left.signal), static_cast<uint64_t>(right.signal));
  found.numbers("si_code", static_cast<uint64_t>(left.code), static_cast<uint64_t>(right.code));
  found.numbers("fault address", left.fault_address, right.fault_address);
  found.numbers("address or immediate", first.stop.address, second.stop.address);
  found.numbers("pc", left.state.pc, right.state.pc);
  found.states(left.state, right.state, kSlotCount);
  found.memory(left.blocks, right.blocks);
  found.numbers("retired instructions", first.retired, second.retired);
  return found.take();
}

std::string describe_outcome(const Outcome& outcome) {
  std::string text = signal_name(outcome.signal);
  text += " at pc " + hex(outcome.state.pc);
  if (outcome.signal == SIGSEGV || outcome.signal == SIGBUS) {
    text += ", code " + std::to_string(outcome.code) + ", address " + hex(outcome.fault_address);
  }
  return text;
}

std::string describe_words(const Table& table, const std::vector<uint32_t>& words) {
  std::string text;
  uint64_t address = ORACLE_CODE_ENTRY;
  for (const uint32_t word : words) {
    const uint32_t row = table.decode(word);
    char number[24];
    std::snprintf(number, sizeof number, "  %08x  ", word);
    text += number + disassemble(word, address) + "    " + (row == kNoRow ? "(no row)" : table.row(row).name) + "\n";
    address += 4;
  }
  return text;
}

namespace {

// Slots the words name, plus the flags: enough to understand a case. The replay string has all of them.
std::set<unsigned> named_slots(const Table& table, const Group& group) {
  std::set<unsigned> slots = {kSlotNzcv};
  for (const uint32_t word : group.words) {
    const uint32_t row = table.decode(word);
    if (row == kNoRow) continue;
    for (const Field& field : table.row(row).fields) {
      const uint32_t number = field.value(word);
      if (field.kind == Field::Kind::kVector) {
        slots.insert({kSlotV + 2 * number, kSlotV + 2 * number + 1});
        slots.insert({kSlotFpcr, kSlotFpsr});
      } else if (field.is_register() && (number < 31 || field.kind == Field::Kind::kGeneralOrSp)) {
        slots.insert(number);
      }
    }
  }
  for (const Override& change : group.inputs[0].overrides) slots.insert(change.slot);
  return slots;
}

}  // namespace

std::string describe(const Table& table, const Mismatch& mismatch, uint64_t memory_seed, const std::string& command) {
  const Group& group = mismatch.group;
  const OracleState input = expand(group.inputs[0]);
  std::string text = "MISMATCH\n" + describe_words(table, group.words) + "  input ";
  for (const unsigned slot : named_slots(table, group)) {
    text += " " + slot_name(slot) + "=" + hex(slot_value(input, slot));
  }
  text += "\n  QEMU   " + describe_outcome(mismatch.expected);
  text += "\n  kvrm   " + describe_outcome(mismatch.actual.outcome) + "\n";
  for (const std::string& line : mismatch.differences) text += "    " + line + "\n";
  text += "  replay " + command + " --replay " + encode({memory_seed, group.words, group.inputs[0]}) +
          (group.allocation_only ? " --allocation" : "") + "\n";
  return text;
}

}  // namespace kvrm::oracle
