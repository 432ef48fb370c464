#include "memory/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>

namespace kvrm::memory {

FramePool::FramePool(u64 limit_bytes) : limit_frames_(limit_bytes / kFrameBytes) {}

FramePool::~FramePool() {
  for (u8* chunk : chunks_) munmap(chunk, kChunkFrames * kFrameBytes);
}

u8* FramePool::allocate() {
  if (in_use_ >= limit_frames_) return nullptr;
  if (free_.empty()) {
    void* chunk = mmap(nullptr, kChunkFrames * kFrameBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED) return nullptr;
    chunks_.push_back(static_cast<u8*>(chunk));
    for (u64 i = kChunkFrames; i-- > 0;) free_.push_back(chunks_.back() + i * kFrameBytes);
  }
  u8* frame = free_.back();
  free_.pop_back();
  ++in_use_;
  return frame;
}

bool FramePool::charge(u64 bytes) {
  const u64 frames = bytes / kFrameBytes;
  if (frames > limit_frames_ - std::min(in_use_, limit_frames_)) return false;
  limit_frames_ -= frames;
  return true;
}

void FramePool::release(u8* frame) {
  free_.push_back(frame);
  --in_use_;
}

}  // namespace kvrm::memory
