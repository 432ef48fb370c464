#include "linux/segments.h"

#include <algorithm>

#include "linux/lane_process.h"
#include "linux/layout.h"

namespace kvrm::linux_abi {

using memory::kPageSize;

Segment* Segments::find(i32 number) {
  const auto found = segments_.find(number);
  return found == segments_.end() ? nullptr : &found->second;
}

std::optional<i32> Segments::find_key(i32 key) const {
  for (const auto& [number, segment] : segments_)
    if (segment.key == key) return number;
  return std::nullopt;
}

std::optional<i32> Segments::add(Segment segment) {
  if (segments_.size() >= std::size_t{kMostSegments}) return std::nullopt;
  while (segments_.contains(next_)) next_ = (next_ + 1) & 0x7fffffff;
  const i32 number = next_;
  segments_.emplace(number, std::move(segment));
  next_ = (next_ + 1) & 0x7fffffff;
  return number;
}

void Segments::remove(i32 number) {
  const auto found = segments_.find(number);
  if (found == segments_.end()) return;
  kept_ -= found->second.pages.size() * kPageSize;
  segments_.erase(found);
}

Segment* Segments::of(const memory::Area& area) {
  const bool is_ours = (area.flags & memory::kAreaBacked) && (area.image & kAreaId);
  return is_ours ? find(i32(u32(area.image))) : nullptr;
}

u64 Segments::attached(const memory::GuestMemory& memory, i32 number) {
  u64 count = 0;
  for (const auto& area : memory.areas()) count += (area.flags & memory::kAreaBacked) && area.image == area_id(number);
  return count;
}

void Segments::sweep(const memory::GuestMemory& memory) {
  for (auto at = segments_.begin(); at != segments_.end();) {
    const auto& [number, segment] = *at++;
    if ((segment.mode & kSegmentRemoved) && attached(memory, number) == 0) remove(number);
  }
}

bool Segments::take_page(const memory::GuestMemory& memory, u64 address, Segment& segment, u64 offset, u64 limit) {
  auto page = std::make_unique<Segment::Page>();
  if (!memory.peek(address, page->data(), page->size())) return true;
  if (std::all_of(page->begin(), page->end(), [](u8 byte) { return byte == 0; })) return true;
  if (kept_ + kPageSize > limit) return false;
  kept_ += kPageSize;
  segment.pages[offset] = std::move(page);
  return true;
}

bool Segments::take_back(const memory::GuestMemory& memory, u64 address, u64 size, i64 now, u64 limit) {
  const u64 end = address + size;
  for (u64 at = address; at < end;) {
    const auto area = memory.next_area(at);
    if (!area || area->start >= end) break;
    at = area->end;
    Segment* segment = of(*area);
    if (!segment) continue;
    segment->detach_time = now;
    segment->last_user = kPid;
    // A removed segment cannot be attached again: its contents are not needed.
    if (segment->mode & kSegmentRemoved) continue;
    for (u64 page = std::max(address, area->start); page < std::min(end, area->end); page += kPageSize) {
      const u64 offset = area->source + (page - area->start);
      if (offset >= page_up(segment->size)) break;
      if (!take_page(memory, page, *segment, offset, limit)) return false;
    }
  }
  return true;
}

bool Segments::give(memory::GuestMemory& memory, Segment& segment, u64 address) {
  for (const auto& [offset, page] : segment.pages)
    if (!memory.poke(address + offset, page->data(), page->size())) return false;
  kept_ -= segment.pages.size() * kPageSize;
  segment.pages.clear();
  return true;
}

}  // namespace kvrm::linux_abi
