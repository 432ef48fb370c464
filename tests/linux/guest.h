// A guest for tests: memory with a scratch area, a Cpu, a process, and system calls as function calls.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "linux/freestanding/abi.h"
#include "linux/freestanding/layout.h"
#include "linux/process.h"
#include "memory/address_space.h"

namespace kvrm::linux_abi::test {

// Numbers of the calls the tests use most.
enum Number : u64 {
  kGetcwd = 17,
  kDup = 23,
  kDup3 = 24,
  kFcntl = 25,
  kIoctl = 29,
  kMknodat = 33,
  kMkdirat = 34,
  kUnlinkat = 35,
  kSymlinkat = 36,
  kLinkat = 37,
  kRenameat = 38,
  kFtruncate = 46,
  kFaccessat = 48,
  kChdir = 49,
  kFchdir = 50,
  kFchmod = 52,
  kFchmodat = 53,
  kFchownat = 54,
  kOpenat = 56,
  kClose = 57,
  kPipe2 = 59,
  kGetdents64 = 61,
  kLseek = 62,
  kRead = 63,
  kWrite = 64,
  kReadv = 65,
  kWritev = 66,
  kPread64 = 67,
  kPwrite64 = 68,
  kSendfile = 71,
  kPselect6 = 72,
  kPpoll = 73,
  kReadlinkat = 78,
  kNewfstatat = 79,
  kFstat = 80,
  kUtimensat = 88,
  kExit = 93,
  kExitGroup = 94,
  kFutex = 98,
  kNanosleep = 101,
  kSetitimer = 103,
  kClockGettime = 113,
  kClockNanosleep = 115,
  kKill = 129,
  kTgkill = 131,
  kSigaltstack = 132,
  kRtSigsuspend = 133,
  kRtSigaction = 134,
  kRtSigprocmask = 135,
  kRtSigpending = 136,
  kRtSigtimedwait = 137,
  kRtSigreturn = 139,
  kUname = 160,
  kUmask = 166,
  kPrctl = 167,
  kGetpid = 172,
  kBrk = 214,
  kMunmap = 215,
  kMremap = 216,
  kClone = 220,
  kMmap = 222,
  kMprotect = 226,
  kMadvise = 233,
  kWait4 = 260,
  kPrlimit64 = 261,
  kGetrandom = 278,
  kStatx = 291,
};

inline constexpr u64 kScratch = 0x200000;
inline constexpr u64 kScratchSize = 0x40000;
inline constexpr u64 kCwd = u64(i64{kAtFdCwd});

// A folder that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/kvrm-linux-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    const int fd = ::open((*this / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(fd, text.data(), text.size()), ssize_t(text.size()));
    ::close(fd);
  }
  std::string read(const std::string& name) const {
    std::string text(1 << 16, '\0');
    const int fd = ::open((*this / name).c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? ::read(fd, text.data(), text.size()) : -1;
    if (fd >= 0) ::close(fd);
    return n < 0 ? "<unreadable>" : text.substr(0, std::size_t(n));
  }

 private:
  std::string path_;
};

class Guest {
 public:
  // `account`: of the memory; null: one that the process does not share.
  explicit Guest(ProcessOptions options = {}, memory::AccountPointer account = nullptr)
      : memory_(account ? account : std::make_shared<memory::Account>(u64{256} << 20)),
        process_(std::move(*Process::create(quiet(std::move(options))))) {
    EXPECT_TRUE(memory_.map(kScratch, kScratchSize, memory::kRead | memory::kWrite));
    EXPECT_TRUE(memory_.map(kStackBottom, kStackSize, memory::kRead | memory::kWrite));
    cpu_.x[kSpSlot] = kStackTop - 0x1000;
    cpu_.pc = 0x400000;
  }

  i64 call(u64 number, u64 a0 = 0, u64 a1 = 0, u64 a2 = 0, u64 a3 = 0, u64 a4 = 0, u64 a5 = 0) {
    const u64 args[6] = {a0, a1, a2, a3, a4, a5};
    std::copy_n(args, 6, cpu_.x);
    cpu_.x[8] = number;
    outcome_ = process_.system_call(cpu_, memory_);
    return i64(cpu_.x[0]);
  }

  // Puts bytes into the scratch area at an offset and returns their address.
  u64 put(u64 offset, const void* from, std::size_t size) {
    EXPECT_TRUE(memory_.poke(kScratch + offset, from, size));
    return kScratch + offset;
  }
  u64 text(const std::string& value, u64 offset = 0) { return put(offset, value.c_str(), value.size() + 1); }
  template <class T>
  u64 put(u64 offset, const T& value) {
    return put(offset, &value, sizeof value);
  }
  template <class T>
  T get(u64 address) const {
    T value{};
    EXPECT_TRUE(memory_.peek(address, &value, sizeof value));
    return value;
  }
  std::string get_text(u64 address, std::size_t size) const {
    std::string value(size, '\0');
    EXPECT_TRUE(memory_.peek(address, value.data(), size));
    return value;
  }
  i64 open(const std::string& path, u32 flags = 0, u32 mode = 0644) {
    return call(kOpenat, kCwd, text(path, 0x3f000), flags, mode);
  }

  Cpu& cpu() { return cpu_; }
  memory::AddressSpace& memory() { return memory_; }
  Process& process() { return process_; }
  const Outcome& outcome() const { return outcome_; }

  // The null device three times unless the test says otherwise.
  static ProcessOptions quiet(ProcessOptions options) {
    static const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (options.stdin_fd == 0) options.stdin_fd = null;
    if (options.stdout_fd == 1) options.stdout_fd = null;
    if (options.stderr_fd == 2) options.stderr_fd = null;
    return options;
  }

 private:
  memory::AddressSpace memory_;
  Cpu cpu_{};
  Process process_;
  Outcome outcome_;
};

inline ProcessOptions rooted(const std::string& folder) {
  ProcessOptions options;
  options.root = folder;
  return options;
}
inline ProcessOptions rooted(const TemporaryFolder& folder) { return rooted(folder.path()); }

}  // namespace kvrm::linux_abi::test
