// The address space's side of its window (memory/window.h).
//
// Always: the host's rights to a page of the window are at most those that the TLB would give, and the window shows the
// bytes of the page entry. A frame in the window can be read by the guest, so the host can read it too; frames of pages
// that the guest may not read lie elsewhere.
#include <algorithm>
#include <cstring>
#include <new>

#include "memory/address_space.h"
#include "memory/page_entry.h"

namespace kvrm::memory {
namespace {

// A write to a page with decoded code, and decoding it again, change its protection. A guest that does so very often
// is faster without a window.
constexpr u64 kMostCodeChanges = 20000;

}  // namespace

bool AddressSpace::use_window() {
  if (is_shared() || areas_.count() != 0) return false;
  if (!physical().use_window()) window_loss_ = WindowLoss::kRefused;
  window_ = physical().window();
  return window_ != nullptr;
}

// The kernel limits the mappings of a process, and a guest can make any number of pieces. Then all its pages leave the
// window, which is one mapping again.
bool AddressSpace::leave_window_if_full() {
  if (!window_ || left_window_ || window_->may_split()) return false;
  give_up_window(WindowLoss::kMappings);
  left_window_ = true;
  for_each_entry(0, Window::kBytes, [&](u64 page, u64& entry) {
    entry &= ~kPageShown;
    if (!(entry & kPagePrivate) || !window_->holds(page_of(entry))) return;
    if (!change_frame(page, entry, false)) throw std::bad_alloc();
    window_->discard(page);
  });
  window_->hide(0, Window::kBytes);
  return true;
}

// Shows the page of this entry with all the rights it may have. Before: as many or fewer.
void AddressSpace::show(u64 address, u64& entry) {
  if (!window_ || (entry & kPageShown) || !Window::has(address) || !(entry & kPageRead)) return;
  if (leave_window_if_full()) return;
  if (entry & kPagePrivate) {
    if (!window_->holds(page_of(entry))) {
      if (!window()) return;
      if (!change_frame(page_base(address), entry, true)) return give_up_window(WindowLoss::kRefused);
    }
    const bool has_code = holds_code(entry);
    if (has_code && ++code_changes_ > kMostCodeChanges) give_up_window(WindowLoss::kCodeChanges);
    window_->set_writable(page_base(address), is_writable(entry) && !has_code);
    entry |= kPageShown;
  } else if (window()) {
    if (entry & kPageInPlace || !show_shared(page_base(address))) give_up_window(WindowLoss::kRefused);
  }
}

// The entry of a frame that lies in the window, whatever address was used; null: it lies elsewhere.
u64* AddressSpace::entry_in_window(const u8* frame) {
  return window_ && window_->holds(frame) ? make_slot(static_cast<u64>(frame - window_->base())) : nullptr;
}

// A page that could be written is shown again, read-only.
void AddressSpace::code_decoded(const u8* frame, const Translation&, u64, bool) {
  u64* const entry = entry_in_window(frame);
  if (!entry || !is_writable(*entry)) return;
  *entry &= ~kPageShown;
  show(static_cast<u64>(frame - window_->base()), *entry);
}

// The next access shows it writable.
void AddressSpace::code_written(const u8* frame) {
  if (u64* const entry = entry_in_window(frame)) *entry &= ~kPageShown;
}

// Shows shared bytes, and as many neighbors as one mapping of the host can: pages that are only read cost the guest
// nothing.
bool AddressSpace::show_shared(u64 address) {
  constexpr u64 kLeafBytes = kFanout * kPageSize;
  const memory::Area& area = *areas_.find(address);
  const u64 leaf = address / kLeafBytes * kLeafBytes;
  u64 first = std::max(area.start, leaf), end = std::min({area.end, leaf + kLeafBytes, Window::kBytes});
  const Image* const image = area.flags & kAreaSource ? images_[area.image - 1].get() : nullptr;
  // An image's pages, and the zeros after it, are mappings of their own.
  const u64 image_size = image && area.source < image->padded_size() ? image->padded_size() - area.source : 0;
  const u64 image_end = std::min(area.end, area.start + std::min(image_size, area.end - area.start));
  const bool is_image = address < image_end;
  if (is_image) {
    end = std::min(end, image_end);
  } else {
    first = std::max(first, image_end);
  }
  u64* const entries = make_slot(leaf);  // there: the page was just resolved
  const auto entry_at = [&](u64 page) -> u64& { return entries[(page - leaf) / kPageSize]; };
  const auto fits = [&](u64 page) {
    const u64 entry = entry_at(page);
    return !(entry & kPagePresent) || !(entry & (kPagePrivate | kPageShown));
  };
  u64 from = address, to = address + kPageSize;
  while (from > first && fits(from - kPageSize)) from -= kPageSize;
  while (to < end && fits(to)) to += kPageSize;
  const bool shown = is_image ? window_->show_image(from, to - from, image->page(area.source + (from - area.start)))
                              : window_->show_zeros(from, to - from);
  if (!shown) return false;
  for (u64 page = from; page < to; page += kPageSize) {
    u64& entry = entry_at(page);
    if (!(entry & kPagePresent)) entry = make_entry(page, area);
    entry |= kPageShown;
  }
  return true;
}

// Moves a private page into a frame of the window, or out of it. False: the host has no room.
bool AddressSpace::change_frame(u64 address, u64& entry, bool into_window) {
  u8* const frame = frames().exchange(address, into_window);
  if (!frame) return false;
  std::memcpy(frame, page_of(entry), kPageSize);
  const bool held_code = forget_code(entry);
  frames().release_exchanged(page_of(entry));
  entry = entry_of(frame, entry & kPageFlags & ~kPageShown);
  page_moved(address, held_code);
  return true;
}

// After the permissions of a range have changed. Rights that were added are given when the slow path next resolves a
// page; rights that were taken go at once.
void AddressSpace::protect_window(u64 address, u64 size, u32 protection) {
  if (!window_ || !Window::has(address)) return;
  if (leave_window_if_full()) return;
  const bool readable = protection & kRead;
  for_each_entry(address, size, [&](u64 page, u64& entry) {
    const bool is_there = (entry & kPagePrivate) && window_->holds(page_of(entry));
    if (!readable && is_there && !change_frame(page, entry, false)) throw std::bad_alloc();
    entry &= ~kPageShown;
  });
  if (!readable) {
    hide(address, size);
  } else if (!(protection & kWrite)) {
    window_->make_read_only(address, std::min(size, Window::kBytes - address));
  }
}

// A page that moves takes its frame along, unless that lies in the window.
void AddressSpace::move_frame(u64 to, u64& entry) {
  entry &= ~kPageShown;
  if (!window_ || !(entry & kPagePrivate) || !window_->holds(page_of(entry))) return;
  const bool into_window = (entry & kPageRead) && window() && Window::has(to);
  if (into_window && change_frame(to, entry, true)) {
    window_->set_writable(to, may_store(entry));
  } else if (!change_frame(to, entry, false)) {
    throw std::bad_alloc();
  }
}

void AddressSpace::hide(u64 address, u64 size) {
  if (!window_ || !Window::has(address) || leave_window_if_full()) return;
  window_->hide(address, std::min(size, Window::kBytes - address));
}

// Writes to a page whatever its protection is.
void AddressSpace::write_protected(u64 address, u64& entry, const void* from, u64 count) {
  const bool lift = window_ && window_->holds(page_of(entry)) && !may_store(entry);
  if (lift) window_->set_writable(page_base(address), true);
  write_page(entry, page_offset(address), from, count);
  if (lift) window_->set_writable(page_base(address), false);
}

}  // namespace kvrm::memory
