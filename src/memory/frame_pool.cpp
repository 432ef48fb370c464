#include "memory/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace kvrm::memory {
namespace {

constexpr u64 kFirstExtent = 16;  // windows
constexpr u64 kLargestExtent = 64;
// How much more address space than memory a guest may take that touches pages far apart.
constexpr u64 kMostSparse = 16;
// Idle frames that are kept beyond what was ever in use, so that not every one is given back alone.
constexpr u64 kSpare = 256;

bool has(const u64* frames, u64 frame) { return frames[frame / 64] >> frame % 64 & 1; }
void add(u64* frames, u64 frame) { frames[frame / 64] |= u64{1} << frame % 64; }
void remove(u64* frames, u64 frame) { frames[frame / 64] &= ~(u64{1} << frame % 64); }
u64 first_missing(const u64* frames) {
  u64 i = 0;
  while (!~frames[i]) ++i;
  return i * 64 + static_cast<u64>(std::countr_one(frames[i]));
}

}  // namespace

FramePool::FramePool(AccountPointer account)
    : account_(std::move(account)), most_reserved_(kMostSparse * (account_->limit() / kWindowBytes + kFirstExtent)) {
  account_->set_reclaim([this] { give_idle_back(); });
}

FramePool::~FramePool() {
  account_->set_reclaim({});
  account_->release(bytes_in_use());
  account_->remove_idle(idle_ * kFrameBytes);
  for (const auto& extent : extents_) munmap(extent->base, extent->windows.size() * kWindowBytes);
}

u8* FramePool::allocate(u64 address) {
  // Most often an idle frame becomes this one: it does not count twice, or a guest at its limit would lose all of them.
  const u64 likely = idle_ != 0 ? kFrameBytes : 0;
  account_->remove_idle(likely);
  const bool charged = account_->charge(kFrameBytes);
  account_->add_idle(likely);
  if (!charged) return nullptr;
  u8* const frame = find_frame(address);
  if (!frame) account_->release(kFrameBytes);
  return frame;
}

u8* FramePool::find_frame(u64 address) {
  Window* window = window_of(address);
  const u64 own = address / kFrameBytes % kWindowFrames;
  if (window && !has(window->used, own)) return take(*window, own);
  for (const auto& [block, other] : windows_)
    if (other->in_use < kWindowFrames) return take(*other, first_missing(other->used));
  return nullptr;
}

u8* FramePool::take(Window& window, u64 frame) {
  add(window.used, frame);
  if (window.in_use++ == 0) --empty_;
  most_in_use_ = std::max(most_in_use_, ++in_use_);
  if (has(window.touched, frame)) {
    --idle_;
    account_->remove_idle(kFrameBytes);
  } else {
    add(window.touched, frame);
    if (in_use_ + idle_ > most_in_use_ + kSpare) give_idle_back();
  }
  return window.base + frame * kFrameBytes;
}

void FramePool::release(u8* frame) {
  const Place place = place_of(frame);
  Window& window = *place.extent->windows[place.index];
  remove(window.used, static_cast<u64>(frame - window.base) / kFrameBytes);
  if (--window.in_use == 0) ++empty_;
  --in_use_;
  ++idle_;
  account_->release(kFrameBytes);
  account_->add_idle(kFrameBytes);
}

// A part of a word of frames at a time: a guest that releases many mostly releases neighbors.
void FramePool::give_idle_back() {
  for (const auto& [block, window] : windows_) {
    for (u64 i = 0; i < kWindowFrames / 64; ++i) {
      for (u64 idle = window->touched[i] & ~window->used[i]; idle;) {
        const u64 first = static_cast<u64>(std::countr_zero(idle));
        const u64 count = static_cast<u64>(std::countr_one(idle >> first));
        madvise(window->base + (i * 64 + first) * kFrameBytes, count * kFrameBytes, MADV_DONTNEED);
        idle &= ~(~u64{0} >> (64 - count) << first);
      }
      window->touched[i] &= window->used[i];
    }
  }
  account_->remove_idle(idle_ * kFrameBytes);
  idle_ = 0;
}

// --- windows -------------------------------------------------------------------------------------------------------

FramePool::Window* FramePool::window_of(u64 address) {
  const u64 block = address / kWindowBytes;
  const auto found = windows_.find(block);
  if (found != windows_.end()) return found->second;
  const Place place = place_for(block);
  if (!place.extent) return nullptr;
  auto& window = place.extent->windows[place.index];
  window = std::make_unique<Window>(place.extent->base + place.index * kWindowBytes, block);
  windows_.emplace(block, window.get());
  ++empty_;
  return window.get();
}

// Beside a neighbour's window, or where most room is left for neighbours.
FramePool::Place FramePool::place_for(u64 block) {
  for (const i64 step : {-1, 1})
    if (const Place place = beside(block, step); place.extent) return place;
  if (windows_.size() == reserved_ && empty_ > 0) drop_empty_windows();
  if (windows_.size() == reserved_ && !add_extent()) return {};
  return middle_of_the_longest_gap();
}

FramePool::Place FramePool::beside(u64 block, i64 step) {
  const auto neighbour = windows_.find(block + static_cast<u64>(step));
  if (neighbour == windows_.end()) return {};
  Place place = place_of(neighbour->second->base);
  place.index -= static_cast<std::size_t>(step);
  const bool free = place.index < place.extent->windows.size() && !place.extent->windows[place.index];
  return free ? place : Place{};
}

// In the newest extent that has one.
FramePool::Place FramePool::middle_of_the_longest_gap() {
  Place best{};
  for (auto extent = extents_.rbegin(); extent != extents_.rend() && !best.extent; ++extent) {
    const auto& windows = (*extent)->windows;
    std::size_t longest = 0;
    for (std::size_t start = 0, i = 0; i <= windows.size(); ++i) {
      if (i < windows.size() && !windows[i]) continue;
      if (i - start > longest) {
        longest = i - start;
        best = {extent->get(), start + longest / 2};
      }
      start = i + 1;
    }
  }
  return best;
}

// Less if the host has no room for so much.
bool FramePool::add_extent() {
  for (u64 windows = std::min(std::max(reserved_, kFirstExtent), kLargestExtent); windows > 0; windows /= 2) {
    if (reserved_ + windows > most_reserved_) continue;
    void* base = mmap(nullptr, windows * kWindowBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    reserved_ += windows;
    extents_.push_back(std::make_unique<Extent>(static_cast<u8*>(base)));
    extents_.back()->windows.resize(windows);
    return true;
  }
  return false;
}

// The guest has gone elsewhere.
void FramePool::drop_empty_windows() {
  give_idle_back();
  for (const auto& extent : extents_) {
    for (auto& window : extent->windows) {
      if (!window || window->in_use > 0) continue;
      windows_.erase(window->block);
      window = nullptr;
      --empty_;
    }
  }
}

FramePool::Place FramePool::place_of(const u8* frame) {
  for (const auto& extent : extents_) {
    const u64 index = static_cast<u64>(frame - extent->base) / kWindowBytes;
    if (frame >= extent->base && index < extent->windows.size()) return {extent.get(), index};
  }
  return {};
}

}  // namespace kvrm::memory
