// The standard files, as far as a lane can answer for them: output goes to the lane's ring, input is there already.
// What is not here is the host's (kNeedsHost).
//
// Io offers
//   Transfer write(u32 fd, u64 size, Fill& fill)   takes size bytes for descriptor 1 or 2; fill(offset) gives the eight
//                                                  bytes at that offset, which never goes back during one call
//   const GuestStat* stat(u32 fd)                  what fstat says; null: ask the host
//   const char* program(u64& size)                 what /proc/self/exe names; null: ask the host
#pragma once

#include "linux/freestanding/lane_map.h"
#include "linux/freestanding/lane_vectors.h"

namespace kvrm::linux_abi {

enum class Transfer : u32 {
  kDone,
  kWait,  // not all of it yet: call again with the same arguments. What was taken stays taken, Io remembers how much
  kHost,  // nothing was taken, and the host must see this call
};

namespace lane {

// Eight bytes of what is to be written, for Io. Only the first `size` bytes may be read.
template <class Memory, class Vectors>
class Gather {
 public:
  Gather(Memory& memory, const Vectors& vectors, u64 size) : memory_(memory), cursor_(vectors), size_(size) {}

  u64 operator()(u64 offset) {
    cursor_.skip(offset - position_);
    position_ = offset;
    u64 word = 0;
    for (u64 n = 0; n < sizeof word && position_ < size_;) {
      const u64 size = least(least(sizeof word - n, size_ - position_), cursor_.room());
      u64 part = 0;
      if (!memory_.peek(cursor_.address(), &part, size)) break;
      word |= part << n * 8;
      cursor_.advance(size);
      n += size;
      position_ += size;
    }
    return word;
  }

 private:
  Memory& memory_;
  Cursor<Vectors> cursor_;
  const u64 size_;
  u64 position_ = 0;
};

template <class Call>
bool may(const Call& call, u64 fd, u32 flag) {
  return u32(fd) < 3 && (call.process.standard[u32(fd)] & flag) != 0;
}

template <class Call, class Io, class Vectors>
i64 write_vectors(Call& call, Io& io, const Vectors& vectors) {
  const u64 total = total_size(vectors);
  if (total == 0) return 0;
  const u64 size = accessible_ahead(call.memory, Cursor<Vectors>(vectors), total, memory::kRead);
  if (size == 0) return -kEfault;
  Gather fill(call.memory, vectors, size);
  switch (io.write(call.uint_arg(0), size, fill)) {
    case Transfer::kDone: return i64(size);
    case Transfer::kWait: return kMustWait;
    default: return kNeedsHost;
  }
}

template <class Call, class Vectors>
i64 read_vectors(Call& call, const Vectors& vectors) {
  LaneProcess& process = call.process;
  const u64 total = total_size(vectors);
  if (total == 0) return 0;
  const u64 room = accessible_ahead(call.memory, Cursor<Vectors>(vectors), total, memory::kWrite);
  if (room == 0) return -kEfault;
  const u64 size = least(room, process.input_size - process.input_position);
  const u8* from = reinterpret_cast<const u8*>(process.input) + process.input_position;
  Cursor<Vectors> cursor(vectors);
  for (u64 done = 0; done < size;) {
    const u64 part = least(cursor.room(), size - done);
    if (!call.memory.write(cursor.address(), from + done, part)) return kUsedUp;
    cursor.advance(part);
    done += part;
  }
  process.input_position += size;
  return i64(size);
}

template <class Call>
OneVector one_vector(const Call& call) {
  return {{call.a[1], least(call.a[2], kMaxTransfer)}};
}

// The table of buffers in the guest: 0, -errno, or kNeedsHost if the transfer might change the table itself.
template <class Call, class Vectors>
i64 check_vectors(Call& call, const Vectors& vectors, bool is_read) {
  const u64 count = call.a[2], size = count * sizeof(GuestIovec), table = call.a[1] & kUntaggedAddress;
  if (count > kMaxVectors) return -kEinval;
  if (count != 0 && call.memory.accessible(call.a[1], size, memory::kRead) < size) return -kEfault;
  bool overlaps = false;
  for (u64 i = 0; i < count; ++i) {
    const GuestIovec vector = vectors.at(i);
    if (i64(vector.size) < 0) return -kEinval;
    const u64 start = vector.base & kUntaggedAddress;
    overlaps = overlaps || (start < table + size && table < start + vector.size);
  }
  return is_read && overlaps ? kNeedsHost : 0;
}

template <class Call>
auto guest_vectors(Call& call) {
  return GuestVectors{&call.memory, call.a[1], call.a[2]};
}

template <class Call, class Io>
i64 write(Call& call, Io& io) {
  return may(call, call.a[0], kStandardWrites) ? write_vectors(call, io, one_vector(call)) : kNeedsHost;
}

template <class Call, class Io>
i64 writev(Call& call, Io& io) {
  if (!may(call, call.a[0], kStandardWrites)) return kNeedsHost;
  const auto vectors = guest_vectors(call);
  if (const i64 error = check_vectors(call, vectors, false)) return error;
  return write_vectors(call, io, vectors);
}

template <class Call, class Io>
i64 read(Call& call, Io&) {
  return may(call, call.a[0], kStandardReads) ? read_vectors(call, one_vector(call)) : kNeedsHost;
}

template <class Call, class Io>
i64 readv(Call& call, Io&) {
  if (!may(call, call.a[0], kStandardReads)) return kNeedsHost;
  const auto vectors = guest_vectors(call);
  if (const i64 error = check_vectors(call, vectors, true)) return error;
  return read_vectors(call, vectors);
}

template <class Call, class Io>
i64 put_stat(Call& call, Io& io, u64 fd, u64 pointer) {
  const GuestStat* stat = may(call, fd, kStandardStat) ? io.stat(u32(fd)) : nullptr;
  if (!stat) return kNeedsHost;
  return call.copy_out(pointer, *stat) ? 0 : -kEfault;
}

template <class Call, class Io>
i64 fstat(Call& call, Io& io) {
  return put_stat(call, io, call.a[0], call.a[1]);
}

// As libcs ask about a descriptor: with an empty path.
template <class Call, class Io>
i64 newfstatat(Call& call, Io& io) {
  u8 first = 1;
  if (call.uint_arg(3) != kAtEmptyPath || !call.copy_in(call.a[1], first) || first != 0) return kNeedsHost;
  return put_stat(call, io, call.a[0], call.a[2]);
}

enum IoctlRequest : u32 {
  kIoctlUnread = 0x541b,
  kIoctlNonblocking = 0x5421,
  kIoctlNoCloexec = 0x5450,
  kIoctlCloexec = 0x5451,
};

// What is asked of terminals, when it is none.
template <class Call, class Io>
i64 ioctl(Call& call, Io&) {
  switch (call.uint_arg(1)) {
    case kIoctlUnread:
    case kIoctlNonblocking:
    case kIoctlNoCloexec:
    case kIoctlCloexec: return kNeedsHost;
    default:
      return may(call, call.a[0], kStandardOpen) && !may(call, call.a[0], kStandardTerminal) ? -kEnotty : kNeedsHost;
  }
}

template <class Call, class Io>
i64 lseek(Call& call, Io&) {
  if (!may(call, call.a[0], kStandardPipe)) return kNeedsHost;
  return call.uint_arg(2) > 4 ? -kEinval : -kEspipe;
}

// The one link every static program reads when it starts.
template <class Call, class Io>
i64 readlinkat(Call& call, Io& io) {
  const char* const link = "/proc/self/exe";
  for (u64 i = 0;; ++i) {
    char c = 0;
    if (!call.copy_in(call.a[1] + i, c) || c != link[i]) return kNeedsHost;
    if (c == 0) break;
  }
  u64 size = 0;
  const char* const name = io.program(size);
  if (!name || call.int_arg(3) <= 0) return kNeedsHost;
  size = least(size, call.uint_arg(3));
  return call.memory.write(call.a[2], name, size) ? i64(size) : -kEfault;
}

template <class Call, class Io>
i64 mmap(Call& call, Io&) {
  return call.uint_arg(3) & kMapAnonymous ? mmap_anonymous(call) : kNeedsHost;
}

}  // namespace lane
}  // namespace kvrm::linux_abi
