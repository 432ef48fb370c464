// The guest's system calls and signals as strace prints them (strace -a0: without columns).
#pragma once

#include <string>
#include <vector>

#include "linux/freestanding/abi.h"
#include "linux/process.h"
#include "linux/strace_values.h"

namespace kvrm::linux_abi {

// One call: made before it, finished after it. Reads the guest's memory and changes nothing.
class CallTrace {
 public:
  CallTrace(const memory::GuestMemory& memory, u32 number, const std::array<u64, 6>& arguments);
  // "openat(AT_FDCWD, "/etc/x", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)". result: as dispatch()
  // gives it.
  std::string returned(i64 result);
  // It does not come back: "exit_group(0) = ?".
  std::string did_not_return(bool ended);

 private:
  std::string text() const;

  const u32 number_;
  TracedCall call_;
  std::vector<std::string> arguments_;
};

// "--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x10} ---"
std::string signal_text(const GuestSiginfo& info);
// "+++ exited with 0 +++", "+++ killed by SIGSEGV +++"; empty if the process goes on.
std::string end_text(const Outcome& outcome);

// Whether a call has a row in strace_table.inc.
bool has_argument_kinds(u32 number);

}  // namespace kvrm::linux_abi
