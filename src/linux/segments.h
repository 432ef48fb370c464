// System V shared memory of a process that is alone: a segment is plain memory where it is attached, and bytes kept
// here while it is not. The areas it is mapped in carry its number (memory::Backing), so that the map itself says where
// and how often it is attached, whatever mprotect, mremap and munmap have made of it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "base/types.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

struct Segment {
  i32 key = 0;
  u64 size = 0;
  u32 uid = 0, gid = 0, creator_uid = 0, creator_gid = 0;
  u32 mode = 0;  // with kSegmentRemoved and kSegmentLocked
  i64 attach_time = 0, detach_time = 0, change_time = 0;
  i32 creator = 0, last_user = 0;
  using Page = std::array<u8, memory::kPageSize>;
  std::map<u64, std::unique_ptr<Page>> pages;  // by offset: those of a detached part that are not zeros
};

enum SegmentMode : u32 { kSegmentRemoved = 01000, kSegmentLocked = 02000 };

class Segments {
 public:
  static constexpr i32 kMostSegments = 4096;  // SHMMNI
  static constexpr i32 kIndexes = 32768;  // Linux's identifiers: an index, and a sequence number above it

  bool empty() const { return segments_.empty(); }
  std::map<i32, Segment>& all() { return segments_; }
  Segment* find(i32 number);
  std::optional<i32> find_key(i32 key) const;
  // A new one's number, or nullopt: there are too many.
  std::optional<i32> add(Segment segment);
  void remove(i32 number);

  // What areas call a segment.
  static u64 area_id(i32 number) { return kAreaId | u32(number); }
  // The segment that an area belongs to; null: to none.
  Segment* of(const memory::Area& area);

  // How many areas show it.
  static u64 attached(const memory::GuestMemory& memory, i32 number);
  // Removed segments go when nothing is attached any more.
  void sweep(const memory::GuestMemory& memory);
  // The pages of a range are about to leave the map: what they hold goes back to their segments. False: that is more
  // than `limit` bytes for all segments together.
  bool take_back(const memory::GuestMemory& memory, u64 address, u64 size, i64 now, u64 limit);
  // The other way; the pages are mapped. False: the guest's memory limit is reached.
  bool give(memory::GuestMemory& memory, Segment& segment, u64 address);

 private:
  static constexpr u64 kAreaId = u64{1} << 32;
  bool take_page(const memory::GuestMemory& memory, u64 address, Segment& segment, u64 offset, u64 limit);

  std::map<i32, Segment> segments_;
  i32 next_ = 0;
  u64 kept_ = 0;  // bytes of pages
};

}  // namespace kvrm::linux_abi
