// Loaded into kvrm with LD_PRELOAD: what a thread that writes can still do, told once for each thread. It stands for a
// guest that has taken kvrm over.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace {

int outcome(long result) { return result >= 0 ? 0 : errno; }

void probe() {
  const char* secret = std::getenv("KVRM_PROBE");
  if (!secret) return;
  const int read = outcome(::syscall(SYS_openat, AT_FDCWD, secret, O_RDONLY, 0));
  const int socket = outcome(::syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
  const int run = outcome(::syscall(SYS_execve, nullptr, nullptr, nullptr));
  char line[64];
  const int size = std::snprintf(line, sizeof line, "probe: %d %d %d\n", read, socket, run);
  ::syscall(SYS_write, STDERR_FILENO, line, size);
}

}  // namespace

extern "C" ssize_t write(int descriptor, const void* bytes, size_t size) {
  thread_local bool told = false;
  if (!told) {
    told = true;
    probe();
  }
  return ::syscall(SYS_write, descriptor, bytes, size);
}
