#include "streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "commands.h"
#include "formatted.h"

namespace kvrm::cli {
namespace {

constexpr std::size_t kBufferBytes = 65536;

// Of the process, as the descriptors themselves.
std::array<bool, 3> closed{};
std::string buffer;
int output_error = 0;

Error system_error(const std::string& name, int error) { return Error{name + ": " + std::strerror(error)}; }

// After a transfer that failed: whether to try again. Another process may have made the descriptor non-blocking.
bool try_again(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd one{descriptor, events, 0};
  return ::poll(&one, 1, -1) > 0 || errno == EINTR;
}

}  // namespace

bool occupy_closed_streams() {
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    closed[static_cast<std::size_t>(descriptor)] = true;
    // The lowest free number is this one. The wrong way round, so that nothing can be read or written.
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return false;
  }
  return true;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)!::setrlimit(RLIMIT_NOFILE, &limit);
}

bool was_closed(int descriptor) { return closed.at(static_cast<std::size_t>(descriptor)); }

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && try_again(descriptor, POLLOUT)) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string format_arguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

void say_text(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

bool print_text(std::string_view text) {
  if (output_error != 0) return false;
  buffer += text;
  return buffer.size() < kBufferBytes || flush_output();
}

bool flush_output() {
  if (output_error == 0) output_error = write_all(STDOUT_FILENO, buffer);
  buffer.clear();
  return output_error == 0;
}

int finish_output(int status) {
  if (flush_output()) return status;
  if (output_error == EPIPE) return 128 + SIGPIPE;
  return host_error(system_error("stdout", output_error).message);
}

Result<std::string> read_all(int descriptor, std::uint64_t most, const std::string& name) {
  std::string bytes;
  std::array<char, kBufferBytes> part;
  for (;;) {
    const ssize_t n = ::read(descriptor, part.data(), part.size());
    if (n < 0 && try_again(descriptor, POLLIN)) continue;
    if (n < 0) return system_error(name, errno);
    if (n == 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(n));
    if (bytes.size() > most) return Error{formatted("{}: more than {} MiB", name, most >> 20)};
  }
}

Result<std::string> read_stream(const std::string& path, std::uint64_t most) {
  if (path == "-") return read_all(STDIN_FILENO, most, "stdin");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error(path, errno);
  auto bytes = read_all(file, most, path);
  ::close(file);
  return bytes;
}

Result<std::string> whole_stdin(const std::string& option) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  if (was_closed(STDIN_FILENO)) return std::string();
  if (::isatty(STDIN_FILENO) == 1) {
    say("kvrm: {} reads all of stdin first: type it and end it with Ctrl-D, or give </dev/null\n", option);
  }
  auto bytes = read_all(STDIN_FILENO, kMost, "stdin");
  if (!bytes) return Error{option + ": " + bytes.error().message};
  return bytes;
}

}  // namespace kvrm::cli
