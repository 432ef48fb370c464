#include "linux/segments.h"

#include <algorithm>
#include <vector>

#include "linux/freestanding/lane_process.h"
#include "linux/freestanding/layout.h"
#include "linux/shared_limit.h"

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
  while (!found->second.pages.empty()) drop(found->second, found->second.pages.begin()->first);
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

void Segments::drop(Segment& segment, u64 offset) {
  if (segment.pages.erase(offset) == 0) return;
  kept_ -= kPageSize;
  account_->release(kPageSize);
}

// Instead of what was there. Null: zeros.
bool Segments::keep(Segment& segment, u64 offset, std::unique_ptr<Segment::Page> page) {
  drop(segment, offset);
  if (!page) return true;
  if (!account_->charge(kPageSize)) return false;
  kept_ += kPageSize;
  segment.pages[offset] = std::move(page);
  return true;
}

// Pages leave the guest's memory before they are charged here: they have been on the account all the time.
bool Segments::take_pages(memory::GuestMemory& memory, u64 address, u64 size, Segment& segment, u64 offset) {
  constexpr u64 kAtOnce = 64 * kPageSize;
  for (u64 done = 0; done < size; done += kAtOnce) {
    const u64 count = std::min(size - done, kAtOnce);
    std::vector<std::unique_ptr<Segment::Page>> pages;
    for (u64 at = done; at < done + count; at += kPageSize) {
      auto page = std::make_unique<Segment::Page>();
      const bool whole = memory.peek(address + at, page->data(), page->size());
      const bool zeros = !whole || std::all_of(page->begin(), page->end(), [](u8 byte) { return byte == 0; });
      pages.push_back(zeros ? nullptr : std::move(page));
    }
    (void)memory.discard(address + done, count);
    share_limit(*account_, memory);
    for (std::size_t i = 0; i < pages.size(); ++i)
      if (!keep(segment, offset + done + i * kPageSize, std::move(pages[i]))) return false;
  }
  return true;
}

bool Segments::take_back(memory::GuestMemory& memory, u64 address, u64 size, i64 now) {
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
    const u64 start = std::max(address, area->start), offset = area->source + (start - area->start);
    const u64 whole = page_up(segment->size);
    if (offset >= whole) continue;
    if (!take_pages(memory, start, std::min({end, area->end, start + (whole - offset)}) - start, *segment, offset))
      return false;
  }
  return true;
}

bool Segments::give(memory::GuestMemory& memory, u64 area_id, u64 address, u64 offset, u64 size) {
  Segment* segment = area_id & kAreaId ? find(i32(u32(area_id))) : nullptr;
  if (!segment) return true;
  for (auto at = segment->pages.lower_bound(offset); at != segment->pages.end() && at->first - offset < size;) {
    const u64 where = at->first;
    const auto page = std::move(at->second);
    ++at;
    drop(*segment, where);
    share_limit(*account_, memory);
    if (!memory.poke(address + (where - offset), page->data(), page->size())) return false;
  }
  return true;
}

}  // namespace kvrm::linux_abi
