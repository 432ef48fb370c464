#include "linux/host_io.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace kvrm::linux_abi {
namespace {

// Keeps a broken pipe from killing the host process: SIGPIPE is blocked in this thread for the write, and one
// that the write caused is taken away again.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    if (broken_ && !was_pending_) {
      while (sigtimedwait(&set_, nullptr, &now) == -1 && errno == EINTR) continue;
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void pipe_is_broken() { broken_ = true; }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t set_, before_;
  bool was_pending_;
  bool broken_ = false;
};

// 0 when the file is ready, otherwise the call's result.
i64 wait_until(Kernel& kernel, Cpu& cpu, const OpenFile& file, short events) {
  pollfd one{file.host_fd, events, 0};
  if (file.flags & kOpenNonblock) return ::poll(&one, 1, 0) > 0 ? 0 : -EAGAIN;
  const bool external = file.kind == OpenFile::Kind::kStream;
  const Wait wait = wait_for(kernel, cpu, {&one, 1}, external, std::nullopt);
  return wait == Wait::kReady ? 0 : kernel.after_wait(wait, "a pipe that no other process holds");
}

i64 read_once(const OpenFile& file, std::span<u8> to, std::optional<u64> offset) {
  for (;;) {
    const ssize_t n = offset ? ::pread(file.host_fd, to.data(), to.size(), off_t(*offset))
                             : ::read(file.host_fd, to.data(), to.size());
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

i64 write_once(const OpenFile& file, std::span<const u8> from, std::optional<u64> offset) {
  for (;;) {
    const ssize_t n = offset ? ::pwrite(file.host_fd, from.data(), from.size(), off_t(*offset))
                             : ::write(file.host_fd, from.data(), from.size());
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

i64 host_read(Kernel& kernel, Cpu& cpu, OpenFile& file, std::span<u8> to, std::optional<u64> offset) {
  if (file.kind == OpenFile::Kind::kRandom) {
    kernel.random.fill(to.data(), to.size());
    return i64(to.size());
  }
  if (file.is_memory()) return file.memory.read(to, offset.has_value());
  if (!file.may_wait() || offset) return read_once(file, to, offset);
  for (;;) {
    if (const i64 stop = wait_until(kernel, cpu, file, POLLIN)) return stop;
    if (kernel.ended) return 0;
    const i64 n = read_once(file, to, offset);
    // The descriptor may be non-blocking for the host, and another reader may have been faster.
    if (n != -EAGAIN || file.flags & kOpenNonblock) return n;
  }
}

i64 host_write(Kernel& kernel, Cpu& cpu, OpenFile& file, std::span<const u8> from, std::optional<u64> offset) {
  if (file.kind == OpenFile::Kind::kRandom) return i64(from.size());
  if (file.is_memory()) return file.memory.write(from, offset.has_value());
  if (!file.may_wait() || offset) return write_once(file, from, offset);
  NoSigpipe quiet;
  // A stream that is ready takes this much without blocking the host thread.
  from = from.first(std::min<std::size_t>(from.size(), PIPE_BUF));
  for (;;) {
    if (const i64 stop = wait_until(kernel, cpu, file, POLLOUT)) return stop;
    if (kernel.ended) return 0;
    const i64 n = write_once(file, from, offset);
    if (n == -EPIPE) quiet.pipe_is_broken();
    if (n != -EAGAIN || file.flags & kOpenNonblock) return n;
  }
}

void write_quietly(int host_fd, std::string_view text) {
  NoSigpipe quiet;
  while (!text.empty()) {
    const ssize_t n = ::write(host_fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) quiet.pipe_is_broken();
    if (n <= 0) return;
    text.remove_prefix(std::size_t(n));
  }
}

}  // namespace kvrm::linux_abi
