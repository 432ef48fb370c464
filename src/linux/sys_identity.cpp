// The end of a process, and sockets: the machine has no network, so no descriptor is one.
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {

i64 sys_exit(Kernel& kernel, Call& call) { return kernel.end({Outcome::Kind::kExit, exit_status(call.a[0])}); }

i64 sys_not_a_socket(Kernel& kernel, Call& call) { return kernel.files.get(call.a[0]) ? -ENOTSOCK : -EBADF; }

}  // namespace kvrm::linux_abi
