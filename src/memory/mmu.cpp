#include "memory/mmu.h"

#include <algorithm>
#include <cstring>

#include "base/atomics.h"
#include "memory/page_entry.h"

namespace kvrm::memory {

Mmu::Mmu(Translation& translation) : translation_(translation), physical_(translation.physical()) {
  tlb_.clear();
  translation_.lanes().add(this);
  physical_.listeners().add(this);
}

Mmu::~Mmu() {
  physical_.listeners().remove(this);
  translation_.lanes().remove(this);
}

void Mmu::set_code_listener(CodeListener* listener) {
  listener_ = listener;
  tlb_.shares_memory = is_shared() ? listener : nullptr;
}

void Mmu::set_access_listener(AccessListener* listener) {
  access_listener_ = listener;
  tlb_.clear();
}

// --- what must be forgotten ----------------------------------------------------------------------------------------

// Stores must take the slow path from now on, at every address of the frame. Another translation has addresses of its
// own for it.
void Mmu::code_decoded(const u8* frame, const Translation& translation, u64 address, bool is_aliased) {
  if (is_aliased || &translation != &translation_) {
    tlb_.forbid_writes(frame);
  } else {
    tlb_.at(address).write_tag = kNoPage;
  }
}

void Mmu::code_written(const u8* frame) {
  if (listener_) listener_->code_written(frame);
}

void Mmu::map_changed() {
  tlb_.clear();
  if (listener_) listener_->code_remapped();
}

void Mmu::page_moved(u64 address, bool held_code) {
  tlb_.forget(address);
  if (held_code && listener_) listener_->code_remapped();
}

void Mmu::check_code_version() {
  const u64 now = physical_.code_version();
  if (!tlb_.shares_memory || now == tlb_.code_version) return;
  tlb_.code_version = now;
  tlb_.shares_memory->other_lane_wrote_code();
}

// --- accesses ------------------------------------------------------------------------------------------------------

// Translates and fills the TLB.
Translation::Frame Mmu::fill(u64 address, Access access) {
  const Translation::Frame frame = translation_.translate(address, access);
  if (frame.trap != Trap::kNone) return frame;
  if (is_shared()) {
    // Writes to code must be noted, and where there are locks every access takes one.
    if (!physical_.takes_locks()) {
      tlb_.set_shared(address, frame.rights & kRead, (frame.rights & (kWrite | kExecute)) == kWrite, frame.bytes);
    }
    return frame;
  }
  if (access == Access::kWrite) physical_.forget_code(frame.bytes);
  if (access_listener_) return frame;
  const bool writable = (frame.rights & kWrite) && (access == Access::kWrite || !physical_.holds_code(frame.bytes));
  tlb_.set(address, frame.rights & kRead, writable, frame.bytes);
  return frame;
}

Translation::Frame Mmu::resolve(u64 address, Access access) { return fill(reported_address(address), access); }

// Resolves all pages of the access before copy(frame, offset in page, done, count) is called for any.
template <class Copy>
SlowAccess Mmu::each_page(u64 address, u32 size, Access access, Copy copy) {
  const u64 first_count = std::min<u64>(size, kPageSize - page_offset(address));
  const u64 next = address + first_count;
  Translation::Frame first{}, second{};
  do {
    first = resolve(address, access);
    if (first.trap != Trap::kNone) return {first.trap, address};
    if (first_count == size) break;
    second = resolve(next, access);
    if (second.trap != Trap::kNone) return {second.trap, next};
  } while (translation_.find(reported_address(address)) != first.bytes);  // the second one may have moved the first
  copy(first, page_offset(address), 0, first_count);
  if (second.bytes) copy(second, 0, first_count, size - first_count);
  return {Trap::kNone, 0};
}

SlowAccess Mmu::read_slow(Tlb&, u64 address, void* to, u32 size) {
  const SlowAccess done =
      each_page(address, size, Access::kRead, [&](const Translation::Frame& frame, u64 offset, u64 at, u64 count) {
        physical_.read(frame.bytes + offset, static_cast<u8*>(to) + at, count);
      });
  if (access_listener_ && done.trap == Trap::kNone) access_listener_->accessed(address, size, Access::kRead, to);
  return done;
}

SlowAccess Mmu::write_slow(Tlb&, u64 address, const void* from, u32 size) {
  const SlowAccess done =
      each_page(address, size, Access::kWrite, [&](const Translation::Frame& frame, u64 offset, u64 at, u64 count) {
        physical_.write(frame.bytes + offset, static_cast<const u8*>(from) + at, count);
        if (is_shared() && (frame.rights & kExecute)) physical_.note_code_write();
      });
  if (is_shared()) check_code_version();
  if (access_listener_ && done.trap == Trap::kNone) access_listener_->accessed(address, size, Access::kWrite, from);
  return done;
}

SlowAccess Mmu::exchange_slow(Tlb& cache, u64 address, const void* expected, const void* desired, void* observed,
                              u32 size) {
  if (is_shared()) {
    // Aligned, so that it lies in one page.
    const Translation::Frame readable = resolve(address, Access::kRead);
    if (readable.trap != Trap::kNone) return {readable.trap, address};
    const Translation::Frame frame = resolve(address, Access::kWrite);
    if (frame.trap != Trap::kNone) return {frame.trap, address};
    physical_.compare_exchange(frame.bytes + page_offset(address), expected, desired, observed, size);
    if (frame.rights & kExecute) physical_.note_code_write();
    check_code_version();
    return {Trap::kNone, 0};
  }
  const SlowAccess seen = read_slow(cache, address, observed, size);
  if (seen.trap != Trap::kNone) return seen;
  // Asks for write permission in any case: writes back what was there if the comparison fails.
  const bool equal = std::memcmp(observed, expected, size) == 0;
  return write_slow(cache, address, equal ? desired : observed, size);
}

void Mmu::fence_slow(Tlb&) {
  sync::fence<sync::kSequential, sync::kSystem>();
  check_code_version();
}

// --- code ----------------------------------------------------------------------------------------------------------

// An instruction's address has no tag.
Mmu::CodePage Mmu::code_page(u64 pc) {
  for (;;) {
    const Translation::Frame frame = fill(pc, Access::kExecute);
    if (frame.trap != Trap::kNone) return {frame.trap, nullptr};
    if (is_shared()) return {Trap::kNone, frame.bytes};  // every page that may be executed counts as code
    physical_.decode(frame.bytes, translation_, pc, frame.is_aliased);
    if (physical_.holds_code(frame.bytes)) return {Trap::kNone, frame.bytes};
    // What was told of it has moved the page: again.
  }
}

bool Mmu::holds_code(u64 address, u64 size) const {
  if (is_shared()) return false;
  for (const u64 at : {address, address + size - 1}) {
    if (physical_.holds_code(translation_.find(reported_address(at)))) return true;
  }
  return false;
}

}  // namespace kvrm::memory
