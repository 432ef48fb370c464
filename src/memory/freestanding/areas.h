// What may be at an address: a sorted array of areas, in storage that the caller owns. Freestanding: every
// device finds the same free addresses because every device runs this text.
#pragma once

#include "base/types.h"
#include "memory/freestanding/page.h"

namespace kvrm::memory {

enum AreaFlag : u32 {
  kAreaSource = 1,   // the area shows bytes from elsewhere; otherwise it begins as zeros
  kAreaLaneShared = 2,   // with kAreaSource: those bytes belong to several lanes, and writes go there
  kAreaTouched = 4,  // with kAreaSource: some page has been replaced by a private copy
  // Of the system-call layer (Backing):
  kAreaShared = 8,     // mapped MAP_SHARED
  kAreaBacked = 16,    // made from a file or a segment that only the host knows
  kAreaReadOnly = 32,  // may not become writable
};
inline constexpr u32 kBackingFlags = kAreaShared | kAreaBacked | kAreaReadOnly;

// Code that no lane can write.
KVRM_INLINE bool is_fixed_code(u32 protection) { return (protection & (kExecute | kWrite)) == kExecute; }

struct Area {
  u64 start, end;
  u32 protection;
  u32 flags;
  // With kAreaSource: where start's bytes are; with kAreaBacked: Backing::offset. Grows with the address; otherwise 0.
  u64 source;
  // With kAreaSource: a word of the owner's that pieces of an area share; with kAreaBacked: Backing::id; otherwise 0.
  u64 image;
};

// As many areas as Linux allows a process (vm.max_map_count).
inline constexpr u32 kMostAreas = 65530;
inline constexpr u64 kNoRoom = ~u64{0};

class Areas {
 public:
  // No operation makes more areas than this out of those there were, not even for a moment.
  static constexpr u32 kMostGrowth = 3;

  Areas() = default;
  Areas(Area* storage, u32 count, u32 capacity) : areas_(storage), count_(count), capacity_(capacity) {}

  u32 count() const { return count_; }
  const Area& operator[](u32 index) const { return areas_[index]; }
  // Whether the storage suffices for the next operation whatever it is. Ask first: an operation that lacks storage
  // does nothing and says false, which must not pass for one of Linux's answers.
  bool has_room() const { return capacity_ - count_ >= kMostGrowth; }
  // Goes on in other storage, which must be larger.
  void move_to(Area* storage, u32 capacity) {
    for (u32 i = 0; i < count_; ++i) storage[i] = areas_[i];
    areas_ = storage;
    capacity_ = capacity;
  }

  // Copies of given areas, which must be in order and fit, instead of what was there.
  void assign(const Area* from, u32 count) {
    for (u32 i = 0; i < count; ++i) areas_[i] = from[i];
    count_ = count;
  }

  // The area an address lies in; null if there is none.
  const Area* find(u64 address) const {
    const u32 index = first_ending_after(address);
    return index < count_ && areas_[index].start <= address ? &areas_[index] : nullptr;
  }

  // Sets a flag of the area an address lies in.
  void mark(u64 address, u32 flag) {
    const u32 index = first_ending_after(address);
    if (index < count_ && areas_[index].start <= address) areas_[index].flags |= flag;
  }

  bool is_free(u64 address, u64 size) const {
    if (!valid_range(address, size)) return false;
    const u32 next = first_ending_after(address);
    return next == count_ || areas_[next].start >= address + size;
  }

  bool is_mapped(u64 address, u64 size) const {
    if (!valid_range(address, size)) return false;
    u64 at = address;
    for (u32 i = first_ending_after(address); at < address + size; ++i) {
      if (i == count_ || areas_[i].start > at) return false;
      at = areas_[i].end;
    }
    return true;
  }

  // The first area that ends above the address; null if there is none.
  const Area* next(u64 address) const {
    const u32 index = first_ending_after(address);
    return index < count_ ? &areas_[index] : nullptr;
  }

  // Whether part of the range has one of the flags. The range may leave the address space.
  bool has_flag(u64 address, u64 size, u32 flags) const {
    for (u32 i = first_ending_after(address); i < count_; ++i) {
      if (areas_[i].start >= address && areas_[i].start - address >= size) break;
      if (size != 0 && (areas_[i].flags & flags)) return true;
    }
    return false;
  }
  // Whether part of the range shows bytes from elsewhere.
  bool has_source(u64 address, u64 size) const { return has_flag(address, size, kAreaSource); }

  // The highest free range of that size that ends at or below limit and starts at or above floor, or kNoRoom.
  u64 find_free(u64 size, u64 floor, u64 limit) const {
    u64 end = limit;
    for (u32 i = first_starting_at(limit); i-- > 0;) {
      if (areas_[i].end < end && end - areas_[i].end >= size) break;
      if (areas_[i].start < end) end = areas_[i].start;
    }
    return end < size || end - size < floor ? kNoRoom : end - size;
  }

  // Whether map() and protect() may happen at all: the range is one, and Linux would allow another area.
  bool may_change(u64 address, u64 size) const { return valid_range(address, size) && count_ < kMostAreas; }

  // Zeros, in place of whatever was there.
  bool map(u64 address, u64 size, u32 protection) { return insert(size, {address, address, protection, 0, 0, 0}); }
  // The same with what the mapping is made from.
  bool map_backed(u64 address, u64 size, u32 protection, const Backing& backing) {
    const bool has_id = (backing.flags & kAreaBacked) != 0;
    return insert(size, {address, address, protection, backing.flags & kBackingFlags, has_id ? backing.offset : 0,
                         has_id ? backing.id : 0});
  }
  // Bytes from elsewhere: `source` is where those of `address` are.
  bool map_source(u64 address, u64 size, u32 protection, u64 source, u64 image) {
    return insert(size, {address, address, protection, kAreaSource, source, image});
  }

  bool unmap(u64 address, u64 size) {
    if (!valid_range(address, size) || !has_room()) return false;
    (void)cut_out(address, size);
    return true;
  }

  // False: a hole in the range; the rest has the new protection nevertheless.
  bool protect(u64 address, u64 size, u32 protection) {
    if (!may_change(address, size) || !has_room()) return false;
    const bool whole = is_mapped(address, size);
    split_at(address);
    split_at(address + size);
    for (u32 i = first_starting_at(address); i < count_ && areas_[i].start < address + size; ++i)
      areas_[i].protection = protection;
    return whole;
  }

  // Whether move() may happen: nothing is missing where it comes from, and the ranges do not overlap.
  bool may_move(u64 from, u64 from_size, u64 to, u64 to_size) const {
    if (!valid_range(from, from_size) || !valid_range(to, to_size) || !is_mapped(from, from_size)) return false;
    return from >= to + to_size || to >= from + from_size;
  }

  // The areas of one range replace those of another. A smaller target cuts the end off; a larger one makes the last
  // area longer. Callers promise may_move() and has_room(): they move pages too, and cannot go back. A broken promise
  // must not leave pages without areas, so it stops here, on every device.
  void move(u64 from, u64 from_size, u64 to, u64 to_size) {
    if (!may_move(from, from_size, to, to_size) || !has_room()) __builtin_trap();
    (void)cut_out(to, to_size);
    split_at(from);
    split_at(from + from_size);
    const u64 kept = from_size < to_size ? from_size : to_size;
    const u32 first = first_starting_at(from), kept_last = first_starting_at(from + kept);
    erase(kept_last, first_starting_at(from + from_size));
    const u32 target = first_starting_at(to);
    for (u32 i = first; i < kept_last; ++i) {
      const u64 end = areas_[i].end < from + kept ? areas_[i].end : from + kept;
      areas_[i].start = areas_[i].start - from + to;
      areas_[i].end = end - from + to;
    }
    areas_[kept_last - 1].end = to_size > kept ? to + to_size : areas_[kept_last - 1].end;
    if (target >= kept_last) {
      rotate(first, kept_last, target);
    } else {
      rotate(target, first, kept_last);
    }
  }

 private:
  // Binary searches: the first area that ends above the address, and the first that starts at or above it.
  u32 first_ending_after(u64 address) const {
    u32 low = 0, high = count_;
    while (low < high) {
      const u32 middle = low + (high - low) / 2;
      if (areas_[middle].end > address) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  u32 first_starting_at(u64 address) const {
    u32 low = 0, high = count_;
    while (low < high) {
      const u32 middle = low + (high - low) / 2;
      if (areas_[middle].start >= address) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void insert_at(u32 index, const Area& area) {
    for (u32 i = count_; i > index; --i) areas_[i] = areas_[i - 1];
    areas_[index] = area;
    ++count_;
  }

  void erase(u32 first, u32 last) {
    for (u32 i = last; i < count_; ++i) areas_[first + (i - last)] = areas_[i];
    count_ -= last - first;
  }

  // Makes address a border between areas, if it lies inside one.
  void split_at(u64 address) {
    const u32 index = first_ending_after(address);
    if (index == count_ || areas_[index].start >= address) return;
    Area upper = areas_[index];
    if (upper.flags & (kAreaSource | kAreaBacked)) upper.source += address - upper.start;
    upper.start = address;
    areas_[index].end = address;
    insert_at(index + 1, upper);
  }

  // Leaves a hole and says where in the array it is.
  u32 cut_out(u64 address, u64 size) {
    split_at(address);
    split_at(address + size);
    const u32 first = first_starting_at(address);
    erase(first, first_starting_at(address + size));
    return first;
  }

  bool insert(u64 size, Area area) {
    if (!may_change(area.start, size) || !has_room()) return false;
    const u32 index = cut_out(area.start, size);
    area.end = area.start + size;
    // Neighboring areas of zeros with the same protection become one, so that a growing heap stays one area.
    if (area.flags == 0 && index != 0) {
      Area& before = areas_[index - 1];
      if (before.end == area.start && before.flags == 0 && before.protection == area.protection) {
        before.end = area.end;
        return true;
      }
    }
    insert_at(index, area);
    return true;
  }

  void reverse(u32 first, u32 last) {
    for (; first < last && first < --last; ++first) {
      const Area kept = areas_[first];
      areas_[first] = areas_[last];
      areas_[last] = kept;
    }
  }
  // Swaps [first, middle) with [middle, last).
  void rotate(u32 first, u32 middle, u32 last) {
    reverse(first, middle);
    reverse(middle, last);
    reverse(first, last);
  }

  Area* areas_ = nullptr;
  u32 count_ = 0;
  u32 capacity_ = 0;
};

}  // namespace kvrm::memory
