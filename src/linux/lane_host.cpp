#include "linux/lane_host.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "linux/lane_identity.h"
#include "linux/lane_map.h"
#include "linux/lane_pages.h"
#include "linux/lane_system.h"
#include "linux/lane_time.h"

namespace kvrm::linux_abi {

// Spelled out in errors.h because a lane has no errno.h.
static_assert(kEperm == EPERM && kEnoent == ENOENT && kEsrch == ESRCH && kEintr == EINTR && kEbadf == EBADF);
static_assert(kEchild == ECHILD && kEagain == EAGAIN && kEnomem == ENOMEM && kEfault == EFAULT && kEexist == EEXIST);
static_assert(kEinval == EINVAL && kEnotty == ENOTTY && kEspipe == ESPIPE && kEnosys == ENOSYS);
static_assert(kEafnosupport == EAFNOSUPPORT && kEopnotsupp == EOPNOTSUPP);

// sys_name of every call whose whole answer is lane::name.
#define KVRM_LANE(number, name)                                     \
  i64 sys_##name(Kernel& kernel, Call& call) {                      \
    HostMemory memory(call.memory);                                 \
    auto common = lane_side(kernel, call, memory);                  \
    const i64 result = lane::name(common);                          \
    return result == kUsedUp ? kernel.end_out_of_memory() : result; \
  }
#include "linux/syscalls.inc"

}  // namespace kvrm::linux_abi
