#include "linux/memory_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "linux/clock.h"
#include "linux/file_table.h"

namespace kvrm::linux_abi {
namespace {

constexpr u32 kPipeDevice = 15;
constexpr i64 kMade = i64(kEpoch / kSecond);

// The host's pipe that stands for all of them.
int host_pipe(int end) {
  static const std::array<int, 2> ends = [] {
    std::array<int, 2> fds{-1, -1};
    (void)!::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK);
    return fds;
  }();
  return ends[std::size_t(end)];
}

std::shared_ptr<OpenFile> make(MemoryPipe pipe, bool output) {
  auto file = std::make_shared<OpenFile>();
  file->kind = OpenFile::Kind::kMemory;
  file->host_fd = host_pipe(output ? 1 : 0);
  file->borrowed = true;
  file->flags = output ? kOpenWriteOnly : kOpenReadOnly;
  file->memory = std::move(pipe);
  return file;
}

}  // namespace

i64 MemoryPipe::read(std::span<u8> to, bool at_offset) {
  if (at_offset) return -ESPIPE;
  const std::size_t n = std::min<std::size_t>(to.size(), unread());
  if (n != 0) std::memcpy(to.data(), input->data() + position, n);
  position += n;
  return i64(n);
}

i64 MemoryPipe::write(std::span<const u8> from, bool at_offset) const {
  if (at_offset) return -ESPIPE;
  if (!from.empty()) output(from);
  return i64(from.size());
}

short MemoryPipe::ready(short events) const {
  if (output) return short(events & (POLLOUT | POLLWRNORM));
  return short(POLLHUP | (unread() != 0 ? events & (POLLIN | POLLRDNORM) : 0));
}

void MemoryPipe::settle(GuestStat& stat, u32 uid, u32 gid) const {
  stat.uid = uid;
  stat.gid = gid;
  stat.dev = kPipeDevice;
  stat.ino = 1 + number;
  stat.atime = stat.mtime = stat.ctime = kMade;
  stat.atime_nsec = stat.mtime_nsec = stat.ctime_nsec = 0;
}

void MemoryPipe::settle(GuestStatx& stat, u32 uid, u32 gid) const {
  stat.uid = uid;
  stat.gid = gid;
  stat.dev_major = 0;
  stat.dev_minor = kPipeDevice;
  stat.ino = 1 + number;
  stat.atime = stat.mtime = stat.ctime = {kMade, 0, 0};
}

std::shared_ptr<OpenFile> make_memory_input(std::shared_ptr<const std::string> bytes) {
  return make({0, std::move(bytes), 0, nullptr}, false);
}

std::shared_ptr<OpenFile> make_memory_output(u64 number, OutputSink sink) {
  return make({number, nullptr, 0, std::move(sink)}, true);
}

}  // namespace kvrm::linux_abi
