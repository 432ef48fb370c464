// Who the process is. There is one process with one thread; what could change that is refused.
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

// The set*id family: to what one already is, or -1 for "leave it".
i64 only_own(u32 own, std::initializer_list<u32> wanted) {
  for (const u32 id : wanted)
    if (id != own && id != ~0u) return -EPERM;
  return 0;
}

i64 three_ids(Call& call, u32 id) {
  for (const u64 pointer : {call.a[0], call.a[1], call.a[2]})
    if (!copy_out(call.memory, pointer, id)) return -EFAULT;
  return 0;
}

i64 group_of(i32 pid) { return pid == 0 || pid == kPid ? kPid : -ESRCH; }

}  // namespace

i64 sys_getpid(Kernel&, Call&) { return kPid; }
i64 sys_getppid(Kernel&, Call&) { return kParentPid; }
i64 sys_getuid(Kernel& kernel, Call&) { return kernel.uid; }
i64 sys_getgid(Kernel& kernel, Call&) { return kernel.gid; }
i64 sys_getresuid(Kernel& kernel, Call& call) { return three_ids(call, kernel.uid); }
i64 sys_getresgid(Kernel& kernel, Call& call) { return three_ids(call, kernel.gid); }

i64 sys_setuid(Kernel& kernel, Call& call) {
  return call.uint_arg(0) == ~0u ? -EINVAL : only_own(kernel.uid, {call.uint_arg(0)});
}
i64 sys_setgid(Kernel& kernel, Call& call) {
  return call.uint_arg(0) == ~0u ? -EINVAL : only_own(kernel.gid, {call.uint_arg(0)});
}
i64 sys_setreuid(Kernel& kernel, Call& call) { return only_own(kernel.uid, {call.uint_arg(0), call.uint_arg(1)}); }
i64 sys_setregid(Kernel& kernel, Call& call) { return only_own(kernel.gid, {call.uint_arg(0), call.uint_arg(1)}); }
i64 sys_setresuid(Kernel& kernel, Call& call) {
  return only_own(kernel.uid, {call.uint_arg(0), call.uint_arg(1), call.uint_arg(2)});
}
i64 sys_setresgid(Kernel& kernel, Call& call) {
  return only_own(kernel.gid, {call.uint_arg(0), call.uint_arg(1), call.uint_arg(2)});
}
i64 sys_setfsuid(Kernel& kernel, Call&) { return kernel.uid; }
i64 sys_setfsgid(Kernel& kernel, Call&) { return kernel.gid; }

i64 sys_getgroups(Kernel&, Call& call) { return call.int_arg(0) < 0 ? -EINVAL : 0; }

i64 sys_getpgid(Kernel&, Call& call) { return group_of(call.int_arg(0)); }
i64 sys_getsid(Kernel&, Call& call) { return group_of(call.int_arg(0)); }
i64 sys_setpgid(Kernel&, Call& call) {
  const i32 pid = call.int_arg(0), group = call.int_arg(1);
  if (group < 0) return -EINVAL;
  if (pid != 0 && pid != kPid) return -ESRCH;
  return -EPERM;  // it leads its session already
}

i64 sys_capget(Kernel&, Call& call) {
  constexpr u32 kVersion3 = 0x20080522, kVersion1 = 0x19980330, kVersion2 = 0x20071026;
  std::array<u32, 2> header{};  // version, pid
  if (!copy_in(call.memory, call.a[0], header)) return -EFAULT;
  if (header[0] != kVersion1 && header[0] != kVersion2 && header[0] != kVersion3) {
    if (!copy_out(call.memory, call.a[0], kVersion3)) return -EFAULT;
    return call.a[1] == 0 ? 0 : -EINVAL;
  }
  if (header[1] != 0 && header[1] != u32(kPid)) return -ESRCH;
  if (call.a[1] == 0) return 0;
  const std::array<u32, 6> none{};
  return call.memory.write(call.a[1], none.data(), header[0] == kVersion1 ? 12 : 24) ? 0 : -EFAULT;
}

i64 sys_personality(Kernel&, Call& call) {
  constexpr u32 kAsk = 0xffffffff;
  return call.uint_arg(0) == kAsk || call.uint_arg(0) == 0 ? 0 : -EINVAL;
}

i64 sys_exit(Kernel& kernel, Call& call) { return kernel.end({Outcome::Kind::kExit, int(call.a[0] & 0xff)}); }

// There are no children and there will be none.
i64 sys_wait4(Kernel&, Call& call) {
  constexpr u32 kFlags = 0xe000000b;
  return call.uint_arg(2) & ~kFlags ? -EINVAL : -ECHILD;
}
i64 sys_waitid(Kernel&, Call& call) { return call.uint_arg(0) > 3 ? -EINVAL : -ECHILD; }

i64 sys_set_tid_address(Kernel&, Call&) { return kPid; }  // only another thread could see it cleared

i64 sys_set_robust_list(Kernel& kernel, Call& call) {
  if (call.a[1] != 24) return -EINVAL;
  kernel.robust_list = {call.a[0], call.a[1]};
  return 0;
}

i64 sys_get_robust_list(Kernel& kernel, Call& call) {
  if (call.int_arg(0) != 0 && call.int_arg(0) != kPid) return -ESRCH;
  const u64 size = 24;
  if (!copy_out(call.memory, call.a[2], size) || !copy_out(call.memory, call.a[1], kernel.robust_list[0]))
    return -EFAULT;
  return 0;
}

// Sockets: the machine has no network, so every address family is one it does not know.
i64 sys_socket(Kernel&, Call&) { return -EAFNOSUPPORT; }
i64 sys_not_a_socket(Kernel& kernel, Call& call) { return kernel.files.get(call.a[0]) ? -ENOTSOCK : -EBADF; }

}  // namespace kvrm::linux_abi
