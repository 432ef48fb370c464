#include "memory/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace kvrm::memory {
namespace {

constexpr u64 kFirstExtent = 16;  // chunks
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
    : account_(std::move(account)), most_reserved_(kMostSparse * (account_->limit() / kChunkBytes + kFirstExtent)) {
  account_->set_reclaim([this] { give_idle_back(); });
}

FramePool::~FramePool() {
  account_->set_reclaim({});
  account_->release(bytes_in_use());
  account_->remove_idle(idle_ * kFrameBytes);
  for (const auto& extent : extents_) munmap(extent->base, extent->chunks.size() * kChunkBytes);
}

u8* FramePool::allocate(u64 address, bool in_window) {
  // Most often an idle frame becomes this one: it does not count twice, or a guest at its limit would lose all of them.
  const u64 likely = idle_ != 0 ? kFrameBytes : 0;
  account_->remove_idle(likely);
  const bool charged = account_->charge(kFrameBytes);
  account_->add_idle(likely);
  if (!charged) return nullptr;
  u8* const frame = find_frame(address, in_window);
  if (!frame) account_->release(kFrameBytes);
  return frame;
}

u8* FramePool::exchange(u64 address, bool into_window) {
  return into_window ? frame_in_window(address) : find_frame(address, false);
}

void FramePool::release_exchanged(u8* frame) {
  release(frame);
  account_->add(kFrameBytes);
}

u8* FramePool::frame_in_window(u64 address) {
  u8* const frame = window_ && Window::has(address) ? window_->open(address) : nullptr;
  if (frame) most_in_use_ = std::max(most_in_use_, ++in_use_);
  return frame;
}

u8* FramePool::find_frame(u64 address, bool in_window) {
  if (u8* const frame = in_window ? frame_in_window(address) : nullptr) return frame;
  Chunk* chunk = chunk_of(address);
  const u64 own = address / kFrameBytes % kChunkFrames;
  if (chunk && !has(chunk->used, own)) return take(*chunk, own);
  for (const auto& [block, other] : chunks_)
    if (other->in_use < kChunkFrames) return take(*other, first_missing(other->used));
  return nullptr;
}

u8* FramePool::take(Chunk& chunk, u64 frame) {
  add(chunk.used, frame);
  if (chunk.in_use++ == 0) --empty_;
  most_in_use_ = std::max(most_in_use_, ++in_use_);
  if (has(chunk.touched, frame)) {
    --idle_;
    account_->remove_idle(kFrameBytes);
  } else {
    add(chunk.touched, frame);
    if (in_use_ + idle_ > most_in_use_ + kSpare) give_idle_back();
  }
  return chunk.base + frame * kFrameBytes;
}

void FramePool::release(u8* frame) {
  if (window_ && window_->holds(frame)) {
    --in_use_;
    account_->release(kFrameBytes);
    return;
  }
  const Place place = place_of(frame);
  Chunk& chunk = *place.extent->chunks[place.index];
  remove(chunk.used, static_cast<u64>(frame - chunk.base) / kFrameBytes);
  if (--chunk.in_use == 0) ++empty_;
  --in_use_;
  ++idle_;
  account_->release(kFrameBytes);
  account_->add_idle(kFrameBytes);
}

// A part of a word of frames at a time: a guest that releases many mostly releases neighbors.
void FramePool::give_idle_back() {
  for (const auto& [block, chunk] : chunks_) {
    for (u64 i = 0; i < kChunkFrames / 64; ++i) {
      for (u64 idle = chunk->touched[i] & ~chunk->used[i]; idle;) {
        const u64 first = static_cast<u64>(std::countr_zero(idle));
        const u64 count = static_cast<u64>(std::countr_one(idle >> first));
        madvise(chunk->base + (i * 64 + first) * kFrameBytes, count * kFrameBytes, MADV_DONTNEED);
        idle &= ~(~u64{0} >> (64 - count) << first);
      }
      chunk->touched[i] &= chunk->used[i];
    }
  }
  account_->remove_idle(idle_ * kFrameBytes);
  idle_ = 0;
}

// --- chunks -------------------------------------------------------------------------------------------------------

FramePool::Chunk* FramePool::chunk_of(u64 address) {
  const u64 block = address / kChunkBytes;
  const auto found = chunks_.find(block);
  if (found != chunks_.end()) return found->second;
  const Place place = place_for(block);
  if (!place.extent) return nullptr;
  auto& chunk = place.extent->chunks[place.index];
  chunk = std::make_unique<Chunk>(place.extent->base + place.index * kChunkBytes, block);
  chunks_.emplace(block, chunk.get());
  ++empty_;
  return chunk.get();
}

// Beside a neighbour's chunk, or where most room is left for neighbours.
FramePool::Place FramePool::place_for(u64 block) {
  for (const i64 step : {-1, 1})
    if (const Place place = beside(block, step); place.extent) return place;
  if (chunks_.size() == reserved_ && empty_ > 0) drop_empty_chunks();
  if (chunks_.size() == reserved_ && !add_extent()) return {};
  return middle_of_the_longest_gap();
}

FramePool::Place FramePool::beside(u64 block, i64 step) {
  const auto neighbour = chunks_.find(block + static_cast<u64>(step));
  if (neighbour == chunks_.end()) return {};
  Place place = place_of(neighbour->second->base);
  place.index -= static_cast<std::size_t>(step);
  const bool free = place.index < place.extent->chunks.size() && !place.extent->chunks[place.index];
  return free ? place : Place{};
}

// In the newest extent that has one.
FramePool::Place FramePool::middle_of_the_longest_gap() {
  Place best{};
  for (auto extent = extents_.rbegin(); extent != extents_.rend() && !best.extent; ++extent) {
    const auto& chunks = (*extent)->chunks;
    std::size_t longest = 0;
    for (std::size_t start = 0, i = 0; i <= chunks.size(); ++i) {
      if (i < chunks.size() && !chunks[i]) continue;
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
  for (u64 chunks = std::min(std::max(reserved_, kFirstExtent), kLargestExtent); chunks > 0; chunks /= 2) {
    if (reserved_ + chunks > most_reserved_) continue;
    void* base =
        mmap(nullptr, chunks * kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    reserved_ += chunks;
    extents_.push_back(std::make_unique<Extent>(static_cast<u8*>(base)));
    extents_.back()->chunks.resize(chunks);
    return true;
  }
  return false;
}

// The guest has gone elsewhere.
void FramePool::drop_empty_chunks() {
  give_idle_back();
  for (const auto& extent : extents_) {
    for (auto& chunk : extent->chunks) {
      if (!chunk || chunk->in_use > 0) continue;
      chunks_.erase(chunk->block);
      chunk = nullptr;
      --empty_;
    }
  }
}

FramePool::Place FramePool::place_of(const u8* frame) {
  for (const auto& extent : extents_) {
    const u64 index = static_cast<u64>(frame - extent->base) / kChunkBytes;
    if (frame >= extent->base && index < extent->chunks.size()) return {extent.get(), index};
  }
  return {};
}

}  // namespace kvrm::memory
