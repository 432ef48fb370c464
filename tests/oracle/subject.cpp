#include "subject.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>

namespace kvrm::oracle {
namespace {

constexpr uint32_t kReadWrite = kProtectRead | kProtectWrite;

// PSTATE.SSBS has no accessor: these words, out of every case's reach, set and show it.
constexpr uint64_t kHelperBase = 0x2170000000;
constexpr uint32_t kHelpers[] = {
    0xd503403f,  // MSR SSBS, #0
    0xd503413f,  // MSR SSBS, #1
    0xd53b42c0,  // MRS X0, SSBS
};
constexpr unsigned kShowSsbs = 2;

bool is_about_ssbs(uint32_t word) { return (word & 0xfffff0ffu) == 0xd503403fu || (word & 0xffdfffe0u) == 0xd51b42c0u; }

bool is_plain_page(unsigned page) {
  return page != ORACLE_PAGE_READ_ONLY && page != ORACLE_PAGE_HOLE && page != ORACLE_PAGE_NONE;
}

void to_registers(const OracleState& state, Registers& registers) {
  std::memcpy(registers.x, state.x, sizeof registers.x);
  registers.sp = state.sp;
  registers.pc = state.pc;
  registers.nzcv = state.nzcv;
  registers.fpcr = state.fpcr;
  registers.fpsr = state.fpsr;
  registers.tpidr_el0 = state.tpidr;
  for (unsigned i = 0; i < 32; ++i) registers.v[i] = {state.v[i][0], state.v[i][1]};
}

OracleState from_registers(const Registers& registers) {
  OracleState state = {};
  std::memcpy(state.x, registers.x, sizeof state.x);
  state.sp = registers.sp;
  state.pc = registers.pc;
  state.nzcv = registers.nzcv;
  state.fpcr = registers.fpcr;
  state.fpsr = registers.fpsr;
  state.tpidr = registers.tpidr_el0;
  for (unsigned i = 0; i < 32; ++i) {
    state.v[i][0] = registers.v[i].lo;
    state.v[i][1] = registers.v[i].hi;
  }
  return state;
}

// The signal that Linux would send for a stop of a raw machine. No signal: the case did not end as one must.
void to_signal(const Stop& stop, Outcome& outcome) {
  constexpr int kMapError = 1, kAccessError = 2, kAddressAlignment = 1, kTrapBreakpoint = 1, kIllegalOperand = 2;
  switch (stop.reason) {
    case StopReason::kBreakpoint:
      outcome.signal = SIGTRAP;
      outcome.code = kTrapBreakpoint;
      outcome.fault_address = stop.pc;
      break;
    case StopReason::kHalt:
    case StopReason::kUndefined:
      outcome.signal = SIGILL;
      outcome.code = kIllegalOperand;
      outcome.fault_address = stop.pc;
      break;
    case StopReason::kFault: {
      const bool alignment = stop.fault == FaultKind::kAlignment || stop.fault == FaultKind::kPcAlignment;
      outcome.signal = alignment ? SIGBUS : SIGSEGV;
      outcome.code = alignment ? kAddressAlignment : stop.fault == FaultKind::kPermission ? kAccessError : kMapError;
      outcome.fault_address = stop.address;
      break;
    }
    default: break;
  }
}

}  // namespace

std::unique_ptr<Subject> Subject::create(const Options& options, const Memory& memory, std::string& error) {
  auto machine = Machine::create(options);
  if (!machine) {
    error = machine.error().message;
    return nullptr;
  }
  std::unique_ptr<Subject> subject(new Subject(std::move(*machine), memory));
  error = subject->make_world();
  return error.empty() ? std::move(subject) : nullptr;
}

std::string Subject::make_world() {
  std::vector<uint32_t> filler(ORACLE_CODE_SIZE / 4);
  for (uint32_t i = 0; i < filler.size(); ++i) filler[i] = ORACLE_FILLER(i);
  auto done = machine_.map(ORACLE_CODE_BASE, ORACLE_CODE_SIZE, kReadWrite | kProtectExecute);
  if (done) done = machine_.write(ORACLE_CODE_BASE, std::as_bytes(std::span(filler)));
  if (done) done = machine_.load(std::as_bytes(std::span(kHelpers)), kHelperBase);
  for (unsigned page = 0; done && page < ORACLE_DATA_PAGES; ++page) {
    const uint64_t address = ORACLE_DATA_BASE + page * ORACLE_PAGE;
    if (page == ORACLE_PAGE_HOLE) continue;
    done = machine_.map(address, ORACLE_PAGE, page == ORACLE_PAGE_NONE ? uint32_t{kProtectNone} : kReadWrite);
    if (!done || page == ORACLE_PAGE_NONE) continue;
    done = machine_.write(address, std::span(memory_).subspan(page * ORACLE_PAGE, ORACLE_PAGE));
    if (done && page == ORACLE_PAGE_READ_ONLY) done = machine_.protect(address, ORACLE_PAGE, kProtectRead);
  }
  return done ? "" : done.error().message;
}

void Subject::place(const std::vector<uint32_t>& words) {
  std::vector<uint32_t> code = words;
  constexpr uint32_t kFirst = (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4;
  while (code.size() < words_in_place_) code.push_back(ORACLE_FILLER(kFirst + code.size()));
  words_in_place_ = words.size();
  touches_ssbs_ = std::any_of(words.begin(), words.end(), is_about_ssbs);
  static_cast<void>(machine_.write(ORACLE_CODE_ENTRY, std::as_bytes(std::span(code))));
}

std::vector<OracleBlock> Subject::mend_memory() {
  std::vector<OracleBlock> blocks;
  for (unsigned page = 0; page < ORACLE_DATA_PAGES; ++page) {
    if (!is_plain_page(page)) continue;
    std::byte now[ORACLE_PAGE];
    const std::byte* before = &memory_[page * ORACLE_PAGE];
    const uint64_t address = ORACLE_DATA_BASE + page * ORACLE_PAGE;
    if (!machine_.read(address, now)) continue;
    if (std::memcmp(now, before, ORACLE_PAGE) == 0) continue;
    for (uint64_t at = 0; at < ORACLE_PAGE; at += 16) {
      if (std::memcmp(now + at, before + at, 16) == 0) continue;
      OracleBlock block = {page * ORACLE_PAGE + at, {}};
      std::memcpy(block.bytes, now + at, 16);
      blocks.push_back(block);
      static_cast<void>(machine_.write(address + at, std::span(before + at, 16)));
    }
  }
  return blocks;
}

uint64_t Subject::run_helper(unsigned index) {
  machine_.set_pc(kHelperBase + 4 * index);
  static_cast<void>(machine_.run(1));
  return machine_.x(0);
}

Subject::Ran Subject::run(const OracleState& input) {
  if (touches_ssbs_) run_helper(input.ssbs);
  Registers registers;
  to_registers(input, registers);
  machine_.set_registers(registers);
  Ran ran;
  const uint64_t retired_before = machine_.statistics().instructions;
  ran.stop = machine_.run(words_in_place_ + 1);
  ran.retired = machine_.statistics().instructions - retired_before;
  ran.outcome.state = from_registers(machine_.registers());
  to_signal(ran.stop, ran.outcome);
  ran.outcome.blocks = mend_memory();
  ran.outcome.state.ssbs = input.ssbs;
  if (touches_ssbs_) ran.outcome.state.ssbs = static_cast<uint32_t>(run_helper(kShowSsbs) >> 12 & 1);
  return ran;
}

}  // namespace kvrm::oracle
