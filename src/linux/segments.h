// System V shared memory of a process that is alone: a segment is plain memory where it is attached, and bytes kept
// here while it is not. The areas it is mapped in carry its number (memory::Backing), so that the map itself says where
// and how often it is attached, whatever mprotect, mremap and munmap have made of it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "base/types.h"
#include "memory/account.h"
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

  explicit Segments(memory::AccountPointer account) : account_(std::move(account)) {}
  ~Segments() { account_->release(kept_); }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

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
  // The pages of a range are about to leave the map: what they hold goes back to their segments, and the range shows
  // zeros. False: there is no room for that on the guest's account.
  bool take_back(memory::GuestMemory& memory, u64 address, u64 size, i64 now);
  // The other way, for an area that is mapped: the segment's bytes from the offset on. False: the guest's memory limit
  // is reached. An area of no segment stays as it is.
  bool give(memory::GuestMemory& memory, u64 area_id, u64 address, u64 offset, u64 size);

 private:
  static constexpr u64 kAreaId = u64{1} << 32;
  bool take_pages(memory::GuestMemory& memory, u64 address, u64 size, Segment& segment, u64 offset);
  bool keep(Segment& segment, u64 offset, std::unique_ptr<Segment::Page> page);
  void drop(Segment& segment, u64 offset);

  const memory::AccountPointer account_;
  std::map<i32, Segment> segments_;
  i32 next_ = 0;
  u64 kept_ = 0;  // bytes of pages
};

}  // namespace kvrm::linux_abi
