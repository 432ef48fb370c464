#include "world.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>
#include <vector>

namespace kvrm::oracle {

std::string make_world(Machine& machine, unsigned lane, const Memory& memory, const std::vector<uint32_t>* code) {
  constexpr uint32_t kReadWrite = kProtectRead | kProtectWrite;
  std::vector<uint32_t> filler(ORACLE_CODE_SIZE / 4);
  for (uint32_t i = 0; i < filler.size(); ++i) filler[i] = ORACLE_FILLER(i);
  if (code) std::copy(code->begin(), code->end(), filler.begin() + (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4);
  auto done = machine.lane(lane).map(ORACLE_CODE_BASE, ORACLE_CODE_SIZE, kReadWrite | kProtectExecute);
  if (done) done = machine.lane(lane).write(ORACLE_CODE_BASE, std::as_bytes(std::span(filler)));
  if (done && code)
    done = machine.lane(lane).protect(ORACLE_CODE_BASE, ORACLE_CODE_SIZE, kProtectRead | kProtectExecute);
  for (unsigned page = 0; done && page < ORACLE_DATA_PAGES; ++page) {
    const uint64_t address = ORACLE_DATA_BASE + page * ORACLE_PAGE;
    if (page == ORACLE_PAGE_HOLE) continue;
    done = machine.lane(lane).map(address, ORACLE_PAGE, page == ORACLE_PAGE_NONE ? uint32_t{kProtectNone} : kReadWrite);
    if (!done || page == ORACLE_PAGE_NONE) continue;
    done = machine.lane(lane).write(address, std::span(memory).subspan(page * ORACLE_PAGE, ORACLE_PAGE));
    if (done && page == ORACLE_PAGE_READ_ONLY) done = machine.lane(lane).protect(address, ORACLE_PAGE, kProtectRead);
  }
  return done ? "" : done.error().message;
}

bool is_plain_page(unsigned page) {
  return page != ORACLE_PAGE_READ_ONLY && page != ORACLE_PAGE_HOLE && page != ORACLE_PAGE_NONE;
}

Registers to_registers(const OracleState& state) {
  Registers registers;
  std::memcpy(registers.x, state.x, sizeof registers.x);
  registers.sp = state.sp;
  registers.pc = state.pc;
  registers.nzcv = state.nzcv;
  registers.fpcr = state.fpcr;
  registers.fpsr = state.fpsr;
  registers.tpidr_el0 = state.tpidr;
  for (unsigned i = 0; i < 32; ++i) registers.v[i] = {state.v[i][0], state.v[i][1]};
  return registers;
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

}  // namespace kvrm::oracle
