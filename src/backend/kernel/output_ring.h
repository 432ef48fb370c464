// What lanes write to stdout and stderr travels to the host while the kernel runs: through one ring in pinned memory
// that all lanes of a device share. Many lanes write, only the host reads (backend/cuda/output_drain.h).
//
// A record is a header of 16 bytes (ready word; job, stream and size) and its payload, padded to 16 bytes. A lane gets
// a ticket, the record's position, with one atomic add; positions count bytes since the start and never decrease, the
// offset in the ring is the position modulo the capacity, and a record may wrap around the end between two units of 16
// bytes. If that range is still occupied the lane keeps its ticket and tries again later: no lane blocks, and lanes are
// served in the order of their tickets. So every lane with a ticket must use it, with write_output or drop_output.
//
// Ordering. Payload and header are plain stores; then the ready word is stored with release at system scope, and the
// host loads it with acquire. The host clears what it has read, then stores the new tail with release; a lane that
// finds room has loaded the tail with acquire, or the copy that another lane left in device memory. The ready word is
// the position with its lowest bit set, and free space is zero where a ready word may come, so neither stale bytes nor
// a payload that imitates a record can be taken for one.
#pragma once

#include "base/atomics.h"
#include "base/types.h"

namespace kvrm::backend::kernel {

enum class Stream : u32 { kNone = 0, kOut = 1, kError = 2 };  // kNone: a record to skip

inline constexpr u64 kOutputUnit = 16;  // bytes; headers start at multiples of it
inline constexpr u64 kNoTicket = ~u64{0};
inline constexpr u64 kMostInRecord = 2048;  // payload bytes, unless the ring says less

// One side's view of a ring: the pointers may differ between the host and the device. All zero at the start.
struct OutputRing {
  u64* words;  // pinned, capacity bytes
  u64 capacity;  // a multiple of kOutputUnit, at least most + kOutputUnit
  u64 most;  // payload bytes in a record, a multiple of kOutputUnit, at most kMostInRecord
  u64* tail;  // pinned: everything before this position is free again
  u64* head;  // device memory: the next ticket
  u64* known_tail;  // device memory: a copy of the tail, which spares most lanes the way to the host
};

// A lane's state of its writes, which lasts from write to write.
struct OutputProgress {
  u64 done = 0;  // payload bytes of the current write that are in the ring
  u64 ticket = kNoTicket;
  // The position after the last record. A record may be ready while one before it, another lane's, is not, and the host
  // reads in order: it has all of this lane's output once it has read up to this position.
  u64 end = 0;
};

namespace detail {

constexpr u64 ready_word(u64 position) { return position | 1; }
constexpr u64 record_bytes(u64 size) { return kOutputUnit + (size + kOutputUnit - 1) / kOutputUnit * kOutputUnit; }
constexpr u64 record_header(u32 job, Stream stream, u64 size) {
  return static_cast<u64>(job) | (size | static_cast<u64>(stream) << 24) << 32;
}
constexpr u32 header_job(u64 header) { return static_cast<u32>(header); }
constexpr Stream header_stream(u64 header) { return static_cast<Stream>(header >> 56); }
constexpr u64 header_size(u64 header) { return header >> 32 & 0xffffff; }

// Is everything up to this position free for its record?
KVRM_INLINE bool has_room(const OutputRing& ring, u64 end) {
  if (end - sync::load<sync::kAcquire, sync::kDevice>(ring.known_tail) <= ring.capacity) return true;
  const u64 tail = sync::load<sync::kAcquire, sync::kSystem>(ring.tail);
  sync::store<sync::kRelease, sync::kDevice>(ring.known_tail, tail);
  return end - tail <= ring.capacity;
}

// Writes the next record, if its range is free: true, and the ticket is used up.
template <class Fill>
KVRM_INLINE bool publish(const OutputRing& ring, u64 header, u64 size, OutputProgress& progress, Fill fill) {
  const u64 bytes = record_bytes(size);
  if (progress.ticket == kNoTicket) progress.ticket = sync::add<sync::kRelaxed, sync::kDevice>(ring.head, bytes);
  if (!has_room(ring, progress.ticket + bytes)) return false;
  const u64 words = ring.capacity / sizeof(u64);
  const u64 first = progress.ticket / sizeof(u64) % words;
  ring.words[first + 1] = header;
  for (u64 offset = 0; offset < size; offset += sizeof(u64)) {
    // After the two words of the header, wrapped around the end.
    const u64 at = first + 2 + offset / sizeof(u64);
    ring.words[at < words ? at : at - words] = fill(progress.done + offset);
  }
  sync::store<sync::kRelease, sync::kSystem>(&ring.words[first], ready_word(progress.ticket));
  progress.end = progress.ticket + bytes;
  progress.ticket = kNoTicket;
  return true;
}

KVRM_INLINE u64 next_size(const OutputRing& ring, u64 size, const OutputProgress& progress) {
  const u64 left = size - progress.done;
  return left < ring.most ? left : ring.most;
}

}  // namespace detail

// One step of writing `size` bytes: at most one record. True when all of it is in the ring; otherwise call it again on
// later with the same arguments. fill(offset) gives the eight bytes at that offset of the write, offset
// being a multiple of eight; bytes after the end do not matter.
template <class Fill>
KVRM_INLINE bool write_output(const OutputRing& ring, u32 job, Stream stream, u64 size, OutputProgress& progress,
                              Fill fill) {
  const u64 count = detail::next_size(ring, size, progress);
  if (count == 0) return true;
  if (!detail::publish(ring, detail::record_header(job, stream, count), count, progress, fill)) return false;
  progress.done += count;
  if (progress.done < size) return false;
  progress.done = 0;
  return true;
}

// For a lane whose job ends in the middle of a write (cancelled): uses its ticket for a record to skip. True when
// it has no ticket any more; otherwise call it again.
KVRM_INLINE bool drop_output(const OutputRing& ring, u64 size, OutputProgress& progress) {
  if (progress.ticket == kNoTicket) return true;
  const u64 count = detail::next_size(ring, size, progress);
  return detail::publish(ring, detail::record_header(0, Stream::kNone, count), count, progress,
                         [](u64) { return u64{0}; });
}

}  // namespace kvrm::backend::kernel
