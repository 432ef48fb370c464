#include "seccomp.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace kvrm::cli {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif
constexpr std::uint32_t kOtherNumbering = 0x40000000;  // x32's calls; nothing on other architectures

// An emulator opens, reads, writes, maps memory and starts threads. It has no use for these.
constexpr std::uint32_t kNever[] = {
    // Other programs; Filter reads the flags of clone.
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    // Other processes.
    SYS_ptrace,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_tkill,  // the C library says which process it means (tgkill)
    SYS_process_madvise,
    // The view of the file system, and files by other ways than names.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_unshare,
    SYS_setns,
    // Who one is.
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    // The machine.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
    // Wide interfaces into the kernel.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
};

constexpr std::uint32_t kWithPeers[] = {
    SYS_socket,  SYS_socketpair,       SYS_connect,           SYS_bind, SYS_listen, SYS_accept,
    SYS_accept4, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
};

// Their first argument says which process gets the signal.
constexpr std::uint32_t kSignals[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};

// Requests that put input into a terminal, take it over or leave a signal for another process.
constexpr std::uint32_t kIoctls[] = {TIOCSTI,  TIOCLINUX,   TIOCCONS,  TIOCSCTTY,
                                     TIOCSETD, TIOCVHANGUP, FIOSETOWN, SIOCSPGRP};
constexpr std::uint32_t kFcntls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};

// A jump leads over half of them at most, and over fewer than 256 instructions.
static_assert(std::size(kNever) + std::size(kWithPeers) <= 128);

class Filter {
 public:
  explicit Filter(Peers peers) {
    load(offsetof(seccomp_data, arch));
    unless_equal(kArchitecture, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbering, 0, 1);
    answer(kRefuse);
    // Threads, not processes. clone3 keeps its flags in memory, where a filter cannot see them: without it the C
    // library takes clone.
    when(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load(offsetof(seccomp_data, args[0]));
    add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    answer(kRefuse);
    answer(SECCOMP_RET_ALLOW);
    for (const std::uint32_t number : kSignals) {
      add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
      load(offsetof(seccomp_data, args[0]));
      unless_equal(static_cast<std::uint32_t>(::getpid()), kRefuse);
      answer(SECCOMP_RET_ALLOW);
    }
    refuse_requests(SYS_ioctl, kIoctls);
    refuse_requests(SYS_fcntl, kFcntls);
    std::vector<std::uint32_t> refused(std::begin(kNever), std::end(kNever));
    if (peers == Peers::kNone) refused.insert(refused.end(), std::begin(kWithPeers), std::end(kWithPeers));
    std::ranges::sort(refused);
    search(refused);
  }
  sock_fprog program() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

 private:
  static constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

  void add(unsigned operation, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(operation), if_true, if_false, value});
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void answer(std::uint32_t action) { add(BPF_RET | BPF_K, action); }
  void when(std::uint32_t value, std::uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer(action);
  }
  // A call whose second argument says what is wanted. The kernel reads its lower half only.
  void refuse_requests(std::uint32_t number, std::span<const std::uint32_t> requests) {
    add(BPF_JMP | BPF_JEQ | BPF_K, number, 0, static_cast<std::uint8_t>(2 * requests.size() + 2));
    load(offsetof(seccomp_data, args[1]));
    for (const std::uint32_t request : requests) when(request, kRefuse);
    answer(SECCOMP_RET_ALLOW);
  }
  // A tree, not a list: the kernel tries every call number once when it takes the filter.
  void search(std::span<const std::uint32_t> refused) {
    if (refused.size() <= 3) {
      for (const std::uint32_t number : refused) when(number, kRefuse);
      return answer(SECCOMP_RET_ALLOW);
    }
    const std::size_t middle = refused.size() / 2, branch = code_.size();
    add(BPF_JMP | BPF_JGE | BPF_K, refused[middle]);
    search(refused.first(middle));
    code_[branch].jt = static_cast<std::uint8_t>(code_.size() - branch - 1);
    search(refused.subspan(middle));
  }
  void unless_equal(std::uint32_t value, std::uint32_t action) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    answer(action);
  }

  std::vector<sock_filter> code_;
};

Error failure(const char* what) { return Error{std::string(what) + ": " + std::strerror(errno)}; }

}  // namespace

Result<void> seccomp_available() {
  if (kArchitecture == 0) return Error{"no filter for this architecture"};
  std::uint32_t action = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return {};
  return errno == ENOSYS ? Error{"the kernel has none"} : failure("seccomp");
}

Result<void> refuse_system_calls(Peers peers) {
  if (auto available = seccomp_available(); !available) return available;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("no_new_privs");
  Filter filter(peers);
  const sock_fprog program = filter.program();
  // Older kernels slow down the speculation of filtered processes, which costs the guest's speed and protects only what
  // is in this process.
  const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  const long status = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (status > 0) return Error{"a thread has a filter of its own"};
  return status == 0 ? Result<void>() : failure("seccomp");
}

}  // namespace kvrm::cli
