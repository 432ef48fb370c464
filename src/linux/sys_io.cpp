// Moving bytes. Everything goes through one bounded buffer: the guest decides how much it asks for, never how
// much the host holds.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/freestanding/lane_vectors.h"
#include "linux/host_io.h"
#include "linux/kernel_state.h"
#include "linux/lane_host.h"

namespace kvrm::linux_abi {
namespace {

// The table of buffers, copied from the guest.
struct HostVectors {
  std::span<const GuestIovec> vectors;
  u64 count() const { return vectors.size(); }
  GuestIovec at(u64 index) const { return vectors[index]; }
};
using HostCursor = Cursor<HostVectors>;

// accessible_ahead made sure of the pages; what can still fail is the guest's memory limit.
bool scatter(memory::GuestMemory& memory, HostCursor& cursor, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min<std::size_t>(cursor.room(), bytes.size());
    if (!memory.write(cursor.address(), bytes.data(), n)) return false;
    cursor.advance(n);
    bytes = bytes.subspan(n);
  }
  return true;
}

// Fills the buffer as far as the guest's memory allows.
std::size_t gather(const memory::GuestMemory& memory, HostCursor& cursor, std::span<u8> buffer) {
  std::size_t total = 0;
  while (total < buffer.size() && !cursor.at_end()) {
    const std::size_t wanted = std::min<std::size_t>(cursor.room(), buffer.size() - total);
    const std::size_t usable = memory.accessible(cursor.address(), wanted, memory::kRead);
    if (usable == 0 || !memory.read(cursor.address(), buffer.data() + total, usable)) break;
    total += usable;
    cursor.advance(usable);
    if (usable < wanted) break;
  }
  return total;
}

// What a transfer that did not finish returns.
i64 stopped(Kernel& kernel, u64 done, i64 error) {
  if (done == 0) return error;
  // Bytes have moved, so the call happened: it is short, and the caller cancels again.
  if (kernel.ended && kernel.ended->kind == Outcome::Kind::kCancelled) kernel.ended.reset();
  return i64(done);
}

i64 read_file(Kernel& kernel, Call& call, std::span<const GuestIovec> vectors, std::optional<u64> offset) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || !file->readable()) return -EBADF;
  const u64 total = total_size(HostVectors{vectors});
  HostCursor cursor(HostVectors{vectors});
  HostMemory memory(call.memory);
  u64 done = 0;
  while (done < total) {
    const std::size_t wanted = std::min<std::size_t>(total - done, kernel.buffer().size());
    const std::size_t n = accessible_ahead(memory, cursor, wanted, memory::kWrite);
    if (n == 0) return stopped(kernel, done, -EFAULT);
    const auto at = offset ? std::optional<u64>(*offset + done) : std::nullopt;
    const std::span<u8> bytes(kernel.buffer().data(), n);
    const i64 got = host_read(kernel, call.cpu, *file, bytes, at);
    if (got < 0 || kernel.ended) return stopped(kernel, done, got);
    if (!scatter(call.memory, cursor, bytes.first(std::size_t(got)))) return kernel.end_out_of_memory();
    done += u64(got);
    // A stream gives what it has; asking again could wait.
    if (u64(got) < n || file->may_wait()) break;
  }
  return i64(done);
}

i64 broken_pipe(Kernel& kernel) {
  GuestSiginfo info = make_siginfo(kSigpipe, kSiUser);
  info.detail = u64{kernel.uid} << 32 | u64{kPid};
  kernel.signals.post(info);
  return -EPIPE;
}

i64 write_bytes(Kernel& kernel, Call& call, OpenFile& file, std::span<const u8> bytes, std::optional<u64> offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto at = offset ? std::optional<u64>(*offset + done) : std::nullopt;
    const i64 n = host_write(kernel, call.cpu, file, bytes.subspan(done), at);
    if (n == -EPIPE) (void)broken_pipe(kernel);
    if (n <= 0 || kernel.ended) return done != 0 ? i64(done) : n;
    done += std::size_t(n);
  }
  return i64(done);
}

i64 write_file(Kernel& kernel, Call& call, std::span<const GuestIovec> vectors, std::optional<u64> offset) {
  const auto file = kernel.files.get(call.a[0]);
  if (!file || !file->writable()) return -EBADF;
  const u64 total = total_size(HostVectors{vectors});
  HostCursor cursor(HostVectors{vectors});
  u64 done = 0;
  while (done < total) {
    const std::size_t wanted = std::min<std::size_t>(total - done, kernel.buffer().size());
    const std::size_t n = gather(call.memory, cursor, {kernel.buffer().data(), wanted});
    if (n == 0) return stopped(kernel, done, -EFAULT);
    const auto at = offset ? std::optional<u64>(*offset + done) : std::nullopt;
    const i64 put = write_bytes(kernel, call, *file, {kernel.buffer().data(), n}, at);
    if (put < 0) return stopped(kernel, done, put);
    done += u64(put);
    if (kernel.ended) return stopped(kernel, done, 0);
    if (u64(put) < wanted) break;
  }
  return i64(done);
}

i64 read_vectors(Call& call, std::vector<GuestIovec>& vectors) {
  const u64 count = call.a[2];
  if (count > kMaxVectors) return -EINVAL;
  vectors.resize(count);
  if (count != 0 && !call.memory.read(call.a[1], vectors.data(), count * sizeof(GuestIovec))) return -EFAULT;
  for (const auto& vector : vectors)
    if (i64(vector.size) < 0) return -EINVAL;
  return 0;
}

using Transfer = i64 (*)(Kernel&, Call&, std::span<const GuestIovec>, std::optional<u64>);

i64 with_buffer(Kernel& kernel, Call& call, Transfer transfer) {
  const GuestIovec one{call.a[1], std::min(call.a[2], kMaxTransfer)};
  return transfer(kernel, call, {&one, 1}, std::nullopt);
}

i64 with_buffer_at(Kernel& kernel, Call& call, Transfer transfer) {
  if (i64(call.a[3]) < 0) return -EINVAL;
  const GuestIovec one{call.a[1], std::min(call.a[2], kMaxTransfer)};
  return transfer(kernel, call, {&one, 1}, call.a[3]);
}

i64 with_vectors(Kernel& kernel, Call& call, Transfer transfer, std::optional<u64> offset) {
  if (!kernel.files.get(call.a[0])) return -EBADF;
  std::vector<GuestIovec> vectors;
  if (const i64 error = read_vectors(call, vectors)) return error;
  return transfer(kernel, call, vectors, offset);
}

i64 with_vectors_at(Kernel& kernel, Call& call, Transfer transfer, bool minus_one_is_here) {
  if (minus_one_is_here && i64(call.a[3]) == -1) return with_vectors(kernel, call, transfer, std::nullopt);
  return i64(call.a[3]) < 0 ? -EINVAL : with_vectors(kernel, call, transfer, call.a[3]);
}

}  // namespace

i64 sys_read(Kernel& kernel, Call& call) { return with_buffer(kernel, call, read_file); }
i64 sys_write(Kernel& kernel, Call& call) { return with_buffer(kernel, call, write_file); }
i64 sys_pread64(Kernel& kernel, Call& call) { return with_buffer_at(kernel, call, read_file); }
i64 sys_pwrite64(Kernel& kernel, Call& call) { return with_buffer_at(kernel, call, write_file); }
i64 sys_readv(Kernel& kernel, Call& call) { return with_vectors(kernel, call, read_file, std::nullopt); }
i64 sys_writev(Kernel& kernel, Call& call) { return with_vectors(kernel, call, write_file, std::nullopt); }
i64 sys_preadv(Kernel& kernel, Call& call) { return with_vectors_at(kernel, call, read_file, false); }
i64 sys_pwritev(Kernel& kernel, Call& call) { return with_vectors_at(kernel, call, write_file, false); }
i64 sys_preadv2(Kernel& kernel, Call& call) {
  return call.a[5] != 0 ? -EOPNOTSUPP : with_vectors_at(kernel, call, read_file, true);
}
i64 sys_pwritev2(Kernel& kernel, Call& call) {
  return call.a[5] != 0 ? -EOPNOTSUPP : with_vectors_at(kernel, call, write_file, true);
}

i64 sys_sendfile(Kernel& kernel, Call& call) {
  const auto out = kernel.files.get(call.a[0]);
  const auto in = kernel.files.get(call.a[1]);
  if (!out || !in || !in->readable() || !out->writable()) return -EBADF;
  if (in->kind != OpenFile::Kind::kFile) return -EINVAL;
  u64 offset = 0;
  if (call.a[2] != 0 && !copy_in(call.memory, call.a[2], offset)) return -EFAULT;
  if (i64(offset) < 0) return -EINVAL;
  if (call.a[2] == 0) offset = u64(::lseek(in->host_fd, 0, SEEK_CUR));
  const u64 total = std::min(call.a[3], kMaxTransfer);
  u64 done = 0;
  i64 result = 0;
  while (done < total) {
    const std::span<u8> bytes(kernel.buffer().data(), std::min<std::size_t>(total - done, kernel.buffer().size()));
    const i64 got = host_read(kernel, call.cpu, *in, bytes, offset + done);
    result = got > 0 ? write_bytes(kernel, call, *out, bytes.first(std::size_t(got)), std::nullopt) : got;
    if (result > 0) done += u64(result);
    if (result <= 0 || kernel.ended || result < got) break;
  }
  if (call.a[2] == 0)
    (void)::lseek(in->host_fd, off_t(offset + done), SEEK_SET);
  else if (!copy_out(call.memory, call.a[2], offset + done))
    return -EFAULT;
  return stopped(kernel, done, result);
}

}  // namespace kvrm::linux_abi
