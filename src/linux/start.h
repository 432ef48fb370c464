// The first stack of a process: strings, auxiliary vector, environment, arguments, exactly as Linux
// leaves them for _start.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"
#include "linux/elf.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

// AT_HWCAP: a Neoverse N1 as qemu-aarch64 shows it.
inline constexpr u64 kHwcap = 0x119ffb;

struct StackContents {
  std::vector<std::string> args;  // empty: one empty argument, as Linux does since 5.18
  std::vector<std::string> env;
  std::string exec_name;  // AT_EXECFN
  u8 random[16] = {};     // AT_RANDOM
  u32 uid = 1000;
  u32 gid = 1000;
};

// Maps the stack and the signal trampoline, fills the stack and returns the initial sp.
// Arguments and environment beyond Linux's limits (2 MiB together, 128 KiB each) are an error.
Result<u64> build_stack(const StackContents& contents, const LoadedProgram& program, bool executable_stack,
                        memory::GuestMemory& memory);

}  // namespace kvrm::linux_abi
