// The guest's buffers of one transfer (read, readv and their like) and a position in them.
#pragma once

#include "linux/freestanding/lane_context.h"

namespace kvrm::linux_abi {

inline constexpr u64 kMaxVectors = 1024;

// One buffer, and a table of buffers that stays where the guest has it. Others have count() and at() too.
struct OneVector {
  GuestIovec vector;
  u64 count() const { return 1; }
  GuestIovec at(u64) const { return vector; }
};
template <class Memory>
struct GuestVectors {
  Memory* memory;
  u64 address, number;
  u64 count() const { return number; }
  GuestIovec at(u64 index) const {  // known to be readable
    GuestIovec vector{};
    (void)memory->read(address + index * sizeof vector, &vector, sizeof vector);
    return vector;
  }
};

// All of the buffers, but no more than Linux moves in one call.
template <class Vectors>
u64 total_size(const Vectors& vectors) {
  u64 total = 0;
  for (u64 i = 0; i < vectors.count(); ++i) total += least(vectors.at(i).size, kMaxTransfer - total);
  return total;
}

template <class Vectors>
class Cursor {
 public:
  explicit Cursor(const Vectors& vectors) : vectors_(vectors) { open(); }

  bool at_end() const { return index_ == vectors_.count(); }
  u64 address() const { return vector_.base + offset_; }
  u64 room() const { return vector_.size - offset_; }
  void advance(u64 size) {  // at most room()
    offset_ += size;
    if (offset_ == vector_.size) {
      ++index_;
      open();
    }
  }
  void skip(u64 size) {
    while (size != 0 && !at_end()) {
      const u64 step = least(size, room());
      advance(step);
      size -= step;
    }
  }

 private:
  // Goes to the next buffer that is not empty.
  void open() {
    offset_ = 0;
    for (; !at_end(); ++index_) {
      vector_ = vectors_.at(index_);
      if (vector_.size != 0) return;
    }
  }

  Vectors vectors_;
  GuestIovec vector_{};
  u64 index_ = 0;
  u64 offset_ = 0;
};

// How much of the next `size` bytes the guest may access that way.
template <class Memory, class Vectors>
u64 accessible_ahead(Memory& memory, Cursor<Vectors> cursor, u64 size, u32 protection) {
  u64 total = 0;
  while (total < size && !cursor.at_end()) {
    const u64 wanted = least(cursor.room(), size - total);
    const u64 usable = memory.accessible(cursor.address(), wanted, protection);
    total += usable;
    if (usable < wanted) break;
    cursor.advance(wanted);
  }
  return total;
}

}  // namespace kvrm::linux_abi
