// The world of a case on our machine: its memory, its registers, and the signal that a stop stands for.
#pragma once

#include <string>

#include "case.h"
#include "kvrm/machine.h"
#include "qemu.h"

namespace kvrm::oracle {

// Code and data of a lane, as the guest under QEMU has them; an error text if that fails.
// Code that is given is there from the start and cannot be written; otherwise the pages can.
std::string make_world(Machine& machine, unsigned lane, const Memory& memory,
                       const std::vector<uint32_t>* code = nullptr);

// Pages that a case may change.
bool is_plain_page(unsigned page);

Registers to_registers(const OracleState& state);
OracleState from_registers(const Registers& registers);

// The signal that Linux would send for a stop of a raw machine. No signal: the case did not end as one must.
void to_signal(const Stop& stop, Outcome& outcome);

}  // namespace kvrm::oracle
