// Converts traps and the outcomes of processes into Stops.
#pragma once

#include <optional>

#include "base/cpu.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "linux/process.h"
#include "memory/guest_memory.h"

namespace kvrm {

// The word at pc; 0 if nothing is mapped there.
u32 word_at(const Cpu& cpu, const memory::GuestMemory& memory);

Stop stop_at(const Cpu& cpu, u32 word, StopReason reason);

// A trap that ends the run of a raw lane: all but system calls.
Stop raw_stop(const Cpu& cpu, u32 word, Trap trap);

// A device that fails stops all its lanes.
Stop device_stop(const Error& error);

// No value: the program continues.
std::optional<Stop> process_stop(const Cpu& cpu, const memory::GuestMemory& memory, const linux_abi::Process& process,
                                 const linux_abi::Outcome& outcome);

Registers registers_of(const Cpu& cpu);

}  // namespace kvrm
