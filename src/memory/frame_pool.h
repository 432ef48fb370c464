// Private pages of one guest, up to a limit.
#pragma once

#include <vector>

#include "base/types.h"

namespace kvrm::memory {

class FramePool {
 public:
  explicit FramePool(u64 limit_bytes);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  u8* allocate();  // a page of unknown contents; null when the limit is reached
  void release(u8* frame);
  // Counts bytes kept elsewhere for this guest (its page tables) against the limit; false when it is reached.
  bool charge(u64 bytes);
  bool has_room(u64 bytes) const { return bytes / kFrameBytes + in_use_ <= limit_frames_; }
  u64 bytes_in_use() const { return in_use_ * kFrameBytes; }

 private:
  static constexpr u64 kFrameBytes = 4096;
  static constexpr u64 kChunkFrames = 256;

  u64 limit_frames_;
  u64 in_use_ = 0;
  std::vector<u8*> free_;
  std::vector<u8*> chunks_;
};

}  // namespace kvrm::memory
