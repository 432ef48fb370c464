#include "linux/lane_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "linux/freestanding/lane_advice.h"
#include "linux/freestanding/lane_identity.h"
#include "linux/freestanding/lane_map.h"
#include "linux/freestanding/lane_pages.h"
#include "linux/freestanding/lane_remap.h"
#include "linux/freestanding/lane_system.h"
#include "linux/freestanding/lane_time.h"

namespace kvrm::linux_abi {

// Spelled out in errors.h because a lane has no errno.h.
static_assert(kEperm == EPERM && kEnoent == ENOENT && kEsrch == ESRCH && kEintr == EINTR && kEbadf == EBADF);
static_assert(kEchild == ECHILD && kEagain == EAGAIN && kEnomem == ENOMEM && kEacces == EACCES);
static_assert(kEfault == EFAULT && kEexist == EEXIST && kEinval == EINVAL && kEnotty == ENOTTY && kEspipe == ESPIPE &&
              kEnosys == ENOSYS);
static_assert(kEafnosupport == EAFNOSUPPORT && kEopnotsupp == EOPNOTSUPP);

// sys_name of every call whose whole answer is lane::name.
#define KVRM_LANE(number, name)                                     \
  i64 sys_##name(Kernel& kernel, Call& call) {                      \
    ProcessMemory memory(kernel, call);                             \
    auto lane_call = lane_side(kernel, call, memory);               \
    const i64 result = lane::name(lane_call);                       \
    return result == kUsedUp ? kernel.end_out_of_memory() : result; \
  }
#include "linux/syscalls.inc"

namespace {

u32 abilities(const OpenFile& file) {
  u32 flags = kStandardOpen;
  if (file.writable()) flags |= kStandardWrites;
  if (file.is_memory()) return flags | kStandardPipe | kStandardStat | (file.readable() ? kStandardReads : 0u);
  struct stat info{};
  if (::fstat(file.host_fd, &info) != 0) return 0;
  if (::isatty(file.host_fd)) flags |= kStandardTerminal;
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) flags |= kStandardPipe;
  // A file's size changes with what is written.
  if (file.kind == OpenFile::Kind::kStream) flags |= kStandardStat;
  return flags;
}

}  // namespace

void know_standard_files(Kernel& kernel, const std::array<std::shared_ptr<OpenFile>, 3>& files) {
  kernel.standard_files = files;
  for (std::size_t i = 0; i < files.size(); ++i) kernel.standard_abilities[i] = files[i] ? abilities(*files[i]) : 0;
  if (!files[0] || !files[0]->is_memory()) return;
  const std::string& bytes = *files[0]->memory.input;
  kernel.input = reinterpret_cast<u64>(bytes.data());
  kernel.input_size = bytes.size();
}

LaneProcess lane_view(const Kernel& kernel, u64 deadline) {
  LaneProcess process = kernel;
  process.deadline = deadline;
  process.lane_flags = (kernel.clock.is_virtual() ? 0u : u32{kLaneHostClock}) |
                       (kernel.options.verbose ? u32{kLaneNamesUnknown} : 0u) |
                       (kernel.options.trace ? u32{kLaneAsksHost} : 0u);
  for (std::size_t i = 0; i < kernel.standard_files.size(); ++i) {
    const auto& file = kernel.standard_files[i];
    const bool own = file && kernel.files.get(i) == file;
    process.standard[i] = own ? kernel.standard_abilities[i] : 0;
    // Only the host knows whether a write would have to wait.
    if (own && (file->flags & kOpenNonblock)) process.standard[i] &= ~u32{kStandardWrites};
  }
  const auto& input = kernel.standard_files[0];
  if (input && input->is_memory()) process.input_position = input->memory.position;
  return process;
}

void take_lane_view(Kernel& kernel, const LaneProcess& process) {
  static_cast<LaneProcess&>(kernel) = process;
  const auto& input = kernel.standard_files[0];
  if (input && input->is_memory()) input->memory.position = process.input_position;
}

}  // namespace kvrm::linux_abi
