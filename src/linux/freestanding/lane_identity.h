// Who the process is. There is one process with one thread; what could change that is refused.
#pragma once

#include "linux/freestanding/lane_context.h"

namespace kvrm::linux_abi::lane {

// The set*id family: to what one already is, or -1 for "leave it".
constexpr i64 only_own(u32 own, u32 first, u32 second, u32 third) {
  const auto allowed = [own](u32 id) { return id == own || id == ~0u; };
  return allowed(first) && allowed(second) && allowed(third) ? 0 : -kEperm;
}

template <class Call>
i64 three_ids(Call& call, u32 id) {
  for (u32 i = 0; i < 3; ++i)
    if (!call.copy_out(call.a[i], id)) return -kEfault;
  return 0;
}

constexpr i64 group_of(i32 pid) { return is_self(pid) ? kPid : -kEsrch; }

template <class Call>
i64 getpid(Call&) {
  return kPid;
}
template <class Call>
i64 getppid(Call&) {
  return kParentPid;
}
template <class Call>
i64 getuid(Call& call) {
  return call.process.uid;
}
template <class Call>
i64 getgid(Call& call) {
  return call.process.gid;
}
template <class Call>
i64 getresuid(Call& call) {
  return three_ids(call, call.process.uid);
}
template <class Call>
i64 getresgid(Call& call) {
  return three_ids(call, call.process.gid);
}

template <class Call>
i64 setuid(Call& call) {
  const u32 id = call.uint_arg(0);
  return id == ~0u ? -kEinval : only_own(call.process.uid, id, id, id);
}
template <class Call>
i64 setgid(Call& call) {
  const u32 id = call.uint_arg(0);
  return id == ~0u ? -kEinval : only_own(call.process.gid, id, id, id);
}
template <class Call>
i64 setreuid(Call& call) {
  return only_own(call.process.uid, call.uint_arg(0), call.uint_arg(1), ~0u);
}
template <class Call>
i64 setregid(Call& call) {
  return only_own(call.process.gid, call.uint_arg(0), call.uint_arg(1), ~0u);
}
template <class Call>
i64 setresuid(Call& call) {
  return only_own(call.process.uid, call.uint_arg(0), call.uint_arg(1), call.uint_arg(2));
}
template <class Call>
i64 setresgid(Call& call) {
  return only_own(call.process.gid, call.uint_arg(0), call.uint_arg(1), call.uint_arg(2));
}
template <class Call>
i64 setfsuid(Call& call) {
  return call.process.uid;
}
template <class Call>
i64 setfsgid(Call& call) {
  return call.process.gid;
}

template <class Call>
i64 getgroups(Call& call) {
  return call.int_arg(0) < 0 ? -kEinval : 0;
}

template <class Call>
i64 getpgid(Call& call) {
  return group_of(call.int_arg(0));
}
template <class Call>
i64 getsid(Call& call) {
  return group_of(call.int_arg(0));
}
template <class Call>
i64 setpgid(Call& call) {
  const i32 pid = call.int_arg(0), group = call.int_arg(1);
  if (group < 0) return -kEinval;
  if (!is_self(pid)) return -kEsrch;
  return -kEperm;  // it leads its session already
}

template <class Call>
i64 capget(Call& call) {
  constexpr u32 kVersion3 = 0x20080522, kVersion1 = 0x19980330, kVersion2 = 0x20071026;
  u32 header[2] = {};  // version, pid
  if (!call.copy_in(call.a[0], header)) return -kEfault;
  if (header[0] != kVersion1 && header[0] != kVersion2 && header[0] != kVersion3) {
    const u32 version = kVersion3;
    if (!call.copy_out(call.a[0], version)) return -kEfault;
    return call.a[1] == 0 ? 0 : -kEinval;
  }
  if (header[1] != 0 && header[1] != u32(kPid)) return -kEsrch;
  if (call.a[1] == 0) return 0;
  const u32 none[6] = {};
  return call.memory.write(call.a[1], none, header[0] == kVersion1 ? 12 : 24) ? 0 : -kEfault;
}

template <class Call>
i64 personality(Call& call) {
  constexpr u32 kAsk = 0xffffffff;
  return call.uint_arg(0) == kAsk || call.uint_arg(0) == 0 ? 0 : -kEinval;
}

// There are no children and there will be none.
template <class Call>
i64 wait4(Call& call) {
  constexpr u32 kFlags = 0xe000000b;
  return call.uint_arg(2) & ~kFlags ? -kEinval : -kEchild;
}
template <class Call>
i64 waitid(Call& call) {
  return call.uint_arg(0) > 3 ? -kEinval : -kEchild;
}

template <class Call>
i64 set_tid_address(Call&) {
  return kPid;  // only another thread could see it cleared
}

template <class Call>
i64 set_robust_list(Call& call) {
  if (call.a[1] != 24) return -kEinval;
  call.process.robust_list[0] = call.a[0];
  call.process.robust_list[1] = call.a[1];
  return 0;
}

template <class Call>
i64 get_robust_list(Call& call) {
  if (!is_self(call.int_arg(0))) return -kEsrch;
  const u64 size = 24;
  if (!call.copy_out(call.a[2], size) || !call.copy_out(call.a[1], call.process.robust_list[0])) return -kEfault;
  return 0;
}

template <class Call>
i64 umask(Call& call) {
  const u32 before = call.process.umask;
  call.process.umask = call.uint_arg(0) & 0777;
  return before;
}

}  // namespace kvrm::linux_abi::lane
