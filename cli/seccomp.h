// seccomp: the kernel refuses this process the system calls that kvrm never makes.
#pragma once

#include "kvrm/result.h"

namespace kvrm::cli {

enum class Peers {
  kNone,
  kAllowed,  // sockets and the memory of sibling processes: what an MPI library or a GPU's driver may use
};

// The error: why there is no filter to be had.
Result<void> seccomp_available();
// Refuses them to all threads, for good: EPERM. A call in another architecture's numbering kills the process. Sets
// no_new_privs.
Result<void> refuse_system_calls(Peers peers);

}  // namespace kvrm::cli
