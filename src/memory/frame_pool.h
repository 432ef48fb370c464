// Private pages of one guest, up to the limit of its account.
//
// With a window (memory/window.h) a frame lies in it, at its guest address. Otherwise it lies where the guest address
// says as far as possible: 16 MiB of guest addresses have a chunk of the same size on the host, and
// neighbouring chunks lie side by side where there is room. So the distance from a guest's address to the host's is
// mostly the same for all pages of an area, and translated code guesses it (translator/passes/host_addend_guesses.h).
// Only address space is set aside; frames that were never handed out take no memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/types.h"
#include "memory/account.h"
#include "memory/window.h"

namespace kvrm::memory {

class FramePool {
 public:
  explicit FramePool(AccountPointer account);
  explicit FramePool(u64 limit_bytes) : FramePool(std::make_shared<Account>(limit_bytes)) {}
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // From now on frames lie in the window where they can. It outlives the pool.
  void use_window(Window* window) { window_ = window; }
  // A page of unknown contents, for the guest's page at this address; null when the limit is reached. If the frame that
  // belongs there is taken (its page was moved), another one. `in_window`: it may lie in the window.
  u8* allocate(u64 address, bool in_window = true);
  // The caller hides a frame of the window.
  void release(u8* frame);
  // Another frame for the same page, in the window or outside; the caller then releases the old one. The account does
  // not change. Null: the host has no room.
  u8* exchange(u64 address, bool into_window);
  void release_exchanged(u8* frame);
  const AccountPointer& account() const { return account_; }
  u64 bytes_in_use() const { return in_use_ * kFrameBytes; }
  // Frames that the host may still hold memory for.
  u64 bytes_kept() const { return (in_use_ + idle_) * kFrameBytes; }

 private:
  static constexpr u64 kFrameBytes = 4096;
  static constexpr u64 kChunkFrames = 4096;
  static constexpr u64 kChunkBytes = kChunkFrames * kFrameBytes;

  struct Chunk {
    u8* base;
    u64 block;  // guest address / kChunkBytes
    u64 in_use = 0;
    u64 used[kChunkFrames / 64] = {};  // a bit for each frame
    u64 touched[kChunkFrames / 64] = {};  // may take memory
  };
  // Address space for chunks, in one mapping.
  struct Extent {
    u8* base;
    std::vector<std::unique_ptr<Chunk>> chunks;  // null: free
  };
  struct Place {
    Extent* extent;
    std::size_t index;
  };

  Chunk* chunk_of(u64 address);
  Place place_for(u64 block);
  Place beside(u64 block, i64 step);
  Place middle_of_the_longest_gap();
  bool add_extent();
  void drop_empty_chunks();
  Place place_of(const u8* frame);
  u8* find_frame(u64 address, bool in_window);
  u8* frame_in_window(u64 address);
  u8* take(Chunk& chunk, u64 frame);
  void give_idle_back();

  const AccountPointer account_;
  Window* window_ = nullptr;
  u64 in_use_ = 0;
  u64 most_in_use_ = 0;
  u64 idle_ = 0;  // not in use, but touched
  u64 reserved_ = 0;  // chunks, with those that are free
  u64 empty_ = 0;  // chunks without a frame in use
  const u64 most_reserved_;
  std::vector<std::unique_ptr<Extent>> extents_;
  std::map<u64, Chunk*> chunks_;  // by block
};

}  // namespace kvrm::memory
