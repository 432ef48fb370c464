// Waiting for several files at once.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

constexpr u64 kSetSize = 8;

// The host's view of what the guest waits for. Entries that are ready by themselves are not given to it.
struct Waiting {
  std::vector<pollfd> host;
  bool external = false;
  bool any_now = false;

  // Adds a file; returns its events if they are known without asking.
  short add(const Kernel& kernel, i32 fd, short events) {
    pollfd one{-1, events, 0};
    short now = 0;
    if (fd >= 0) {
      const auto file = kernel.files.get(u32(fd));
      if (!file || file->path_only)
        now = POLLNVAL;
      else if (file->is_memory())
        now = file->memory.ready(events);
      else if (!file->may_wait())
        now = short(events & (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM));
      else
        one.fd = file->host_fd;
      if (one.fd >= 0 && file->kind == OpenFile::Kind::kStream) external = true;
    }
    host.push_back(one);
    any_now |= now != 0;
    return now;
  }
};

// Waits, with the guest's other mask if it gave one. 0 when there is something to report.
i64 wait_all(Kernel& kernel, Call& call, Waiting& waiting, std::optional<u64> deadline) {
  if (waiting.any_now) {
    ::poll(waiting.host.data(), nfds_t(waiting.host.size()), 0);
    return 0;
  }
  const Wait wait = wait_for(kernel, call.cpu, waiting.host, waiting.external, deadline);
  if (wait == Wait::kReady || wait == Wait::kTimedOut) return 0;
  if (wait == Wait::kInterrupted) return -EINTR;
  // Without files it is a way to wait for a signal: pause() is ppoll() of nothing.
  const bool has_files =
      std::any_of(waiting.host.begin(), waiting.host.end(), [](const pollfd& f) { return f.fd >= 0; });
  return kernel.after_wait(wait, has_files ? "files that only this program could change" : kNoSignal);
}

// Puts the mask back unless a signal is about to be delivered under it.
void end_mask(Kernel& kernel, i64 result) {
  if (result == -EINTR || !kernel.signals.saved_mask) return;
  kernel.signals.blocked = *kernel.signals.saved_mask;
  kernel.signals.saved_mask.reset();
}

i64 begin_mask(Kernel& kernel, Call& call, u64 pointer, u64 size) {
  if (pointer == 0) return 0;
  u64 mask = 0;
  if (size != kSetSize) return -EINVAL;
  if (!copy_in(call.memory, pointer, mask)) return -EFAULT;
  kernel.signals.suspend_mask(mask);
  return 0;
}

// Linux leaves the time that is left in the caller's timespec.
void write_remaining(const Kernel& kernel, Call& call, u64 pointer, std::optional<u64> deadline) {
  if (!deadline) return;
  const u64 now = kernel.clock.monotonic_ns(call.cpu);
  (void)copy_out(call.memory, pointer, to_timespec(*deadline > now ? *deadline - now : 0));
}

using Set = std::array<u64, FileTable::kMaxFiles / 64>;
constexpr short kReadEvents = POLLIN | POLLRDNORM | POLLHUP | POLLERR;
constexpr short kWriteEvents = POLLOUT | POLLWRNORM | POLLERR;

bool in_set(const Set& set, u64 fd) { return (set[fd / 64] >> fd % 64 & 1) != 0; }

struct Selection {
  std::array<Set, 3> wanted{}, ready{};  // read, write, exceptional
  std::vector<u64> fds;
  std::vector<short> now;
};

i64 collect(const Kernel& kernel, Selection& selection, u64 count, Waiting& waiting) {
  for (u64 fd = 0; fd < count; ++fd) {
    const bool read = in_set(selection.wanted[0], fd), write = in_set(selection.wanted[1], fd);
    const bool except = in_set(selection.wanted[2], fd);
    if (!read && !write && !except) continue;
    if (!kernel.files.get(fd)) return -EBADF;
    const int events = (read ? POLLIN : 0) | (write ? POLLOUT : 0) | (except ? POLLPRI : 0);
    selection.fds.push_back(fd);
    selection.now.push_back(waiting.add(kernel, i32(fd), short(events)));
  }
  return 0;
}

i64 fill_ready(Selection& selection, const Waiting& waiting) {
  i64 bits = 0;
  for (std::size_t i = 0; i < selection.fds.size(); ++i) {
    const short events = short(selection.now[i] | waiting.host[i].revents);
    const u64 fd = selection.fds[i];
    const bool hit[3] = {(events & kReadEvents) != 0, (events & kWriteEvents) != 0, (events & POLLPRI) != 0};
    for (std::size_t s = 0; s < 3; ++s) {
      if (!hit[s] || !in_set(selection.wanted[s], fd)) continue;
      selection.ready[s][fd / 64] |= u64{1} << fd % 64;
      ++bits;
    }
  }
  return bits;
}

}  // namespace

i64 sys_ppoll(Kernel& kernel, Call& call) {
  const std::size_t count = call.uint_arg(1);
  if (count > FileTable::kMaxFiles) return -EINVAL;
  std::optional<u64> deadline;
  if (const i64 error = read_timeout(kernel, call, call.a[2], deadline)) return error;
  std::vector<GuestPollfd> guest(count);
  const std::size_t size = guest.size() * sizeof(GuestPollfd);
  if (size != 0 && !call.memory.read(call.a[0], guest.data(), size)) return -EFAULT;
  if (const i64 error = begin_mask(kernel, call, call.a[3], call.a[4])) return error;
  Waiting waiting;
  for (auto& entry : guest) entry.revents = waiting.add(kernel, entry.fd, entry.events);
  i64 result = wait_all(kernel, call, waiting, deadline);
  end_mask(kernel, result);
  if (result < 0 || kernel.ended) return result;
  for (std::size_t i = 0; i < guest.size(); ++i) {
    guest[i].revents = i16(guest[i].revents | waiting.host[i].revents);
    if (guest[i].revents != 0) ++result;
  }
  if (size != 0 && !call.memory.write(call.a[0], guest.data(), size)) return -EFAULT;
  write_remaining(kernel, call, call.a[2], deadline);
  return result;
}

i64 sys_pselect6(Kernel& kernel, Call& call) {
  if (call.int_arg(0) < 0) return -EINVAL;
  const u64 count = std::min<u64>(call.uint_arg(0), FileTable::kMaxFiles);
  const std::size_t bytes = (count + 63) / 64 * 8;
  std::optional<u64> deadline;
  if (const i64 error = read_timeout(kernel, call, call.a[4], deadline)) return error;
  std::array<u64, 2> mask{};  // pointer and size
  if (call.a[5] != 0 && !copy_in(call.memory, call.a[5], mask)) return -EFAULT;
  Selection selection;
  for (std::size_t s = 0; s < 3; ++s) {
    const u64 pointer = call.a[1 + s];
    if (pointer != 0 && bytes != 0 && !call.memory.read(pointer, selection.wanted[s].data(), bytes)) return -EFAULT;
  }
  Waiting waiting;
  if (const i64 error = collect(kernel, selection, count, waiting)) return error;
  if (const i64 error = begin_mask(kernel, call, mask[0], mask[1])) return error;
  const i64 result = wait_all(kernel, call, waiting, deadline);
  end_mask(kernel, result);
  if (result < 0 || kernel.ended) return result;
  const i64 bits = fill_ready(selection, waiting);
  for (std::size_t s = 0; s < 3; ++s) {
    const u64 pointer = call.a[1 + s];
    if (pointer != 0 && bytes != 0 && !call.memory.write(pointer, selection.ready[s].data(), bytes)) return -EFAULT;
  }
  write_remaining(kernel, call, call.a[4], deadline);
  return bits;
}

}  // namespace kvrm::linux_abi
