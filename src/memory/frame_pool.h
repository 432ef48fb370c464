// Private pages of one guest, up to the limit of its account.
//
// A frame lies where its guest address says: 16 MiB of guest addresses have a window of the same size on the host, and
// neighbouring windows lie side by side where there is room. So the distance from a guest's address to the host's is
// mostly the same for all pages of an area, and translated code guesses it (translator/passes/host_addend_guesses.h).
// Only address space is set aside; frames that were never handed out take no memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/types.h"
#include "memory/account.h"

namespace kvrm::memory {

class FramePool {
 public:
  explicit FramePool(AccountPointer account);
  explicit FramePool(u64 limit_bytes) : FramePool(std::make_shared<Account>(limit_bytes)) {}
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // A page of unknown contents, for the guest's page at this address; null when the limit is reached. If the frame that
  // belongs there is taken (its page was moved), another one.
  u8* allocate(u64 address);
  void release(u8* frame);
  const AccountPointer& account() const { return account_; }
  u64 bytes_in_use() const { return in_use_ * kFrameBytes; }
  // Frames that the host may still hold memory for.
  u64 bytes_kept() const { return (in_use_ + idle_) * kFrameBytes; }

 private:
  static constexpr u64 kFrameBytes = 4096;
  static constexpr u64 kWindowFrames = 4096;
  static constexpr u64 kWindowBytes = kWindowFrames * kFrameBytes;

  struct Window {
    u8* base;
    u64 block;  // guest address / kWindowBytes
    u64 in_use = 0;
    u64 used[kWindowFrames / 64] = {};  // a bit for each frame
    u64 touched[kWindowFrames / 64] = {};  // may take memory
  };
  // Address space for windows, in one mapping.
  struct Extent {
    u8* base;
    std::vector<std::unique_ptr<Window>> windows;  // null: free
  };
  struct Place {
    Extent* extent;
    std::size_t index;
  };

  Window* window_of(u64 address);
  Place place_for(u64 block);
  Place beside(u64 block, i64 step);
  Place middle_of_the_longest_gap();
  bool add_extent();
  void drop_empty_windows();
  Place place_of(const u8* frame);
  u8* find_frame(u64 address);
  u8* take(Window& window, u64 frame);
  void give_idle_back();

  const AccountPointer account_;
  u64 in_use_ = 0;
  u64 most_in_use_ = 0;
  u64 idle_ = 0;  // not in use, but touched
  u64 reserved_ = 0;  // windows, with those that are free
  u64 empty_ = 0;  // windows without a frame in use
  const u64 most_reserved_;
  std::vector<std::unique_ptr<Extent>> extents_;
  std::map<u64, Window*> windows_;  // by block
};

}  // namespace kvrm::memory
