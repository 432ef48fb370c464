// Landlock and seccomp as the program uses them, each tried in a child: what is restricted stays so for good.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "landlock.h"
#include "seccomp.h"

namespace kvrm::cli {
namespace {

namespace fs = std::filesystem;

// What `work` returns in a process of its own; empty if that died.
std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = work();
    const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    std::_Exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

// 0 or the errno.
int outcome(long result) { return result >= 0 ? 0 : errno; }
int opened(const fs::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  const int error = outcome(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

// What was not as expected.
class Report {
 public:
  void expect(const std::string& what, int actual, int expected) {
    if (actual != expected) text_ += what + ": " + std::to_string(actual) + "; ";
  }
  void expect(const std::string& what, const Result<void>& done) {
    if (!done) text_ += what + ": " + done.error().message + "; ";
  }
  std::string text() const { return text_.empty() ? "as expected" : text_; }

 private:
  std::string text_;
};

class LandlockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto version = landlock_version();
    if (!version) GTEST_SKIP() << "no Landlock: " << version.error().message;
    version_ = version.value();
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer has a thread of its own";
#endif
#endif
    std::string name = fs::temp_directory_path() / "kvrm-confine-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* sub : {"in/a", "in/b", "out"}) fs::create_directories(folder_ / sub);
    for (const char* file : {"in/file", "out/file"}) std::ofstream(folder_ / file) << "text";
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  fs::path in(const char* name) const { return folder_ / "in" / name; }
  fs::path out(const char* name) const { return folder_ / "out" / name; }
  static int renamed(const fs::path& from, const fs::path& to) { return outcome(::rename(from.c_str(), to.c_str())); }

  int version_ = 0;
  fs::path folder_;
};

TEST_F(LandlockTest, RootAllowsWhatGuestsMayAndNothingElseIsReachable) {
  EXPECT_EQ(in_child([&] {
              Report report;
              const int kept = ::open(out("file").c_str(), O_RDONLY);
              ReachableFiles files;
              files.roots = {folder_ / "in", folder_ / "absent"};
              report.expect("restrict", restrict_files(files));
              report.expect("open", opened(in("file"), O_RDWR | O_TRUNC), 0);
              report.expect("create", opened(in("a/new"), O_WRONLY | O_CREAT), 0);
              report.expect("rename between folders", renamed(in("a/new"), in("b/new")), 0);
              report.expect("link between folders", outcome(::link(in("b/new").c_str(), in("a/link").c_str())), 0);
              report.expect("symlink", outcome(::symlink("/", in("s").c_str())), 0);
              report.expect("mkfifo", outcome(::mkfifo(in("fifo").c_str(), 0600)), 0);
              report.expect("mkdir", outcome(::mkdir(in("c").c_str(), 0700)), 0);
              report.expect("rmdir", outcome(::rmdir(in("c").c_str())), 0);
              report.expect("read outside", opened(out("file"), O_RDONLY), EACCES);
              report.expect("write outside", opened(out("file"), O_WRONLY), EACCES);
              report.expect("create outside", opened(out("new"), O_WRONLY | O_CREAT), EACCES);
              report.expect("rename outside", renamed(out("file"), out("other")), EACCES);
              report.expect("move out", renamed(in("file"), out("moved")), EACCES);
              report.expect("unlink outside", outcome(::unlink(out("file").c_str())), EACCES);
              report.expect("list", opened("/", O_RDONLY | O_DIRECTORY), EACCES);
              report.expect("/proc", opened("/proc/self/mem", O_RDWR), EACCES);
              char byte;
              report.expect("a descriptor from before", outcome(::read(kept, &byte, 1)), 0);
              return report.text();
            }),
            "as expected");
}

TEST_F(LandlockTest, ReadableIsNotWritableAndStoresHoldFilesOnly) {
  EXPECT_EQ(in_child([&] {
              Report report;
              ReachableFiles files;
              files.readable = {out("file")};
              files.stores = {folder_ / "in"};
              files.devices = {"/dev/null"};
              report.expect("restrict", restrict_files(files));
              report.expect("read", opened(out("file"), O_RDONLY), 0);
              report.expect("write", opened(out("file"), O_WRONLY), EACCES);
              report.expect("device", opened("/dev/null", O_RDWR), 0);
              report.expect("another device", opened("/dev/zero", O_RDONLY), EACCES);
              report.expect("store", opened(in("new"), O_RDWR | O_CREAT | O_EXCL), 0);
              report.expect("rename", renamed(in("new"), in("file")), 0);
              report.expect("list", opened(in("."), O_RDONLY | O_DIRECTORY), 0);
              report.expect("remove", outcome(::unlink(in("file").c_str())), 0);
              report.expect("mkdir", outcome(::mkdir(in("c").c_str(), 0700)), EACCES);
              report.expect("symlink", outcome(::symlink("/", in("s").c_str())), EACCES);
              return report.text();
            }),
            "as expected");
}

TEST_F(LandlockTest, ThreadsStartedLaterAreRestricted) {
  EXPECT_EQ(in_child([&] {
              Report report;
              report.expect("restrict", restrict_files({}));
              std::thread([&] { report.expect("open", opened(in("file"), O_RDONLY), EACCES); }).join();
              return report.text();
            }),
            "as expected");
}

TEST_F(LandlockTest, RefusesWhereAThreadWouldStayFree) {
  EXPECT_EQ(in_child([&] {
              std::promise<void> end;
              std::thread other([&] { end.get_future().wait(); });
              const auto done = restrict_files({});
              const int error = opened(in("file"), O_RDONLY);
              end.set_value();
              other.join();
              return (done ? "restricted" : done.error().message) + ", open " + std::to_string(error);
            }),
            "other threads run already, open 0");
}

TEST_F(LandlockTest, TcpAndSignalsStayInside) {
  EXPECT_EQ(in_child([&] {
              Report report;
              const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
              report.expect("restrict", restrict_files({}));
              sockaddr_in address{};
              address.sin_family = AF_INET;
              address.sin_port = htons(9);
              address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
              const int connected = outcome(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address));
              if (version_ >= 4) report.expect("connect", connected, EACCES);
              if (version_ >= 6) report.expect("a signal to the parent", outcome(::kill(::getppid(), 0)), EPERM);
              report.expect("a signal to itself", outcome(::kill(::getpid(), 0)), 0);
              return report.text();
            }),
            "as expected");
}

class SeccompTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto available = seccomp_available(); !available) GTEST_SKIP() << "no seccomp: " << available.error().message;
  }
  static long call(long number, long a = 0, long b = 0, long c = 0) { return ::syscall(number, a, b, c, 0L, 0L, 0L); }
  // With arguments that do nothing, or that are wrong, where the call is let through.
  static void refused(Report& report, int expected) {
    const struct {
      const char* name;
      long number, a, b;
    } calls[] = {
        {"execve", SYS_execve, 0, 0},   {"execveat", SYS_execveat, -1, 0}, {"ptrace", SYS_ptrace, -1, 0},
        {"unshare", SYS_unshare, 0, 0}, {"setns", SYS_setns, -1, 0},       {"setuid", SYS_setuid, -1, 0},
        {"keyctl", SYS_keyctl, -1, 0},  {"mount", SYS_fsconfig, -1, -1},   {"io_uring", SYS_io_uring_enter, -1, 0}};
    for (const auto& one : calls) {
      const int error = outcome(call(one.number, one.a, one.b));
      if (expected == EPERM ? error != EPERM : error == EPERM) report.expect(one.name, error, -1);
    }
  }
};

TEST_F(SeccompTest, CallsThatKvrmNeverMakesAreRefused) {
  EXPECT_EQ(in_child([] {
              Report report;
              refused(report, 0);
              report.expect("filter", refuse_system_calls(Peers::kNone));
              refused(report, EPERM);
              for (const long number :
                   {SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_reboot, SYS_init_module,
                    SYS_kexec_load, SYS_swapon, SYS_mount, SYS_chroot, SYS_mount_setattr, SYS_accept4}) {
                report.expect("call " + std::to_string(number), outcome(call(number, -1, -1, -1)), EPERM);
              }
              report.expect("socket", outcome(::socket(AF_UNIX, SOCK_STREAM, 0)), EPERM);
              report.expect("process_vm_readv", outcome(call(SYS_process_vm_readv, ::getpid())), EPERM);
              return report.text();
            }),
            "as expected");
}

TEST_F(SeccompTest, ThreadsAndGeneratedCodeWorkAndProcessesDoNot) {
  EXPECT_EQ(in_child([] {
              Report report;
              report.expect("filter", refuse_system_calls(Peers::kNone));
              int ran = 0;
              std::thread([&] { ran = 1; }).join();
              report.expect("thread", ran, 1);
              report.expect("fork", outcome(::fork()), EPERM);
              void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              report.expect("mprotect", outcome(::mprotect(page, 4096, PROT_READ | PROT_EXEC)), 0);
              return report.text();
            }),
            "as expected");
}

TEST_F(SeccompTest, ThreadsThatRunAlreadyAreCovered) {
  EXPECT_EQ(in_child([] {
              Report report;
              std::promise<void> filtered;
              std::thread other([&, ready = filtered.get_future()] {
                ready.wait();
                report.expect("socket", outcome(::socket(AF_UNIX, SOCK_STREAM, 0)), EPERM);
              });
              report.expect("filter", refuse_system_calls(Peers::kNone));
              filtered.set_value();
              other.join();
              return report.text();
            }),
            "as expected");
}

TEST_F(SeccompTest, SignalsReachNoOtherProcess) {
  const pid_t other = ::getpid();
  EXPECT_EQ(in_child([&] {
              Report report;
              siginfo_t info{};
              info.si_code = SI_QUEUE;
              const long at = reinterpret_cast<long>(&info);
              const auto all = [&](pid_t pid, long thread, int expected) {
                report.expect("kill", outcome(::kill(pid, 0)), expected);
                report.expect("tgkill", outcome(call(SYS_tgkill, pid, thread, 0)), expected);
                report.expect("sigqueue", outcome(call(SYS_rt_sigqueueinfo, pid, 0, at)), expected);
                const long queued = ::syscall(SYS_rt_tgsigqueueinfo, pid, thread, 0, at);
                report.expect("tgsigqueue", outcome(queued), expected);
              };
              const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, other, 0));
              all(other, other, 0);
              report.expect("filter", refuse_system_calls(Peers::kNone));
              all(other, other, EPERM);
              all(::getpid(), ::gettid(), 0);
              report.expect("its group", outcome(::kill(0, 0)), EPERM);
              report.expect("all", outcome(::kill(-1, 0)), EPERM);
              report.expect("a group", outcome(::kill(-::getpid(), 0)), EPERM);
              report.expect("tkill", outcome(call(SYS_tkill, other, 0)), EPERM);
              report.expect("pidfd", outcome(call(SYS_pidfd_send_signal, pidfd, 0)), EPERM);
              report.expect("raise", ::raise(SIGURG), 0);
              int ran = 0;
              std::thread([&] { ran = ::raise(SIGURG) == 0; }).join();
              report.expect("raise in a thread", ran, 1);
              int ends[2];
              report.expect("pipe", outcome(::pipe(ends)), 0);
              report.expect("F_SETOWN", outcome(::fcntl(ends[0], F_SETOWN, other)), EPERM);
              report.expect("F_SETSIG", outcome(::fcntl(ends[0], F_SETSIG, SIGKILL)), EPERM);
              report.expect("FIOSETOWN", outcome(::ioctl(ends[0], FIOSETOWN, &other)), EPERM);
              report.expect("F_GETFL", outcome(::fcntl(ends[0], F_GETFL)), 0);
              return report.text();
            }),
            "as expected");
}

// TIOCSTI types on behalf of the user, also into the shell that started kvrm.
TEST_F(SeccompTest, TerminalsGetNoInputFromKvrm) {
  EXPECT_EQ(in_child([] {
              Report report;
              const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
              if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return std::string("as expected");
              const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
              report.expect("filter", refuse_system_calls(Peers::kAllowed));
              for (const int request : {TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSCTTY, TIOCSETD}) {
                char byte = 'x';
                const std::string name = "ioctl " + std::to_string(request);
                report.expect(name, outcome(call(SYS_ioctl, terminal, request, reinterpret_cast<long>(&byte))), EPERM);
                // The kernel does not read the upper half.
                report.expect(
                    name, outcome(call(SYS_ioctl, terminal, request | 1l << 32, reinterpret_cast<long>(&byte))), EPERM);
              }
              winsize size{};
              termios settings{};
              report.expect("TIOCGWINSZ", outcome(::ioctl(terminal, TIOCGWINSZ, &size)), 0);
              report.expect("tcgetattr", outcome(::tcgetattr(terminal, &settings)), 0);
              report.expect("tcsetattr", outcome(::tcsetattr(terminal, TCSANOW, &settings)), 0);
              return report.text();
            }),
            "as expected");
}

TEST_F(SeccompTest, PeersKeepSockets) {
  EXPECT_EQ(in_child([] {
              Report report;
              report.expect("filter", refuse_system_calls(Peers::kAllowed));
              report.expect("socket", outcome(::socket(AF_UNIX, SOCK_STREAM, 0)), 0);
              report.expect("process_vm_readv", outcome(call(SYS_process_vm_readv, ::getpid())), 0);
              refused(report, EPERM);
              return report.text();
            }),
            "as expected");
}

#if defined(__x86_64__)
TEST_F(SeccompTest, OtherNumberingsAreNoWayRound) {
  constexpr long kX32 = 0x40000000;
  EXPECT_EQ(in_child([] {
              Report report;
              report.expect("filter", refuse_system_calls(Peers::kNone));
              report.expect("x32", outcome(call(kX32 + SYS_getpid)), EPERM);
              return report.text();
            }),
            "as expected");
  // getpid as a 32-bit program makes it: the process ends.
  EXPECT_EQ(in_child([] {
              if (!refuse_system_calls(Peers::kNone)) return "no filter";
              long number = 20;
              asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
              return "lived on";
            }),
            "");
}
#endif

}  // namespace
}  // namespace kvrm::cli
