// Physical memory: frames, and which of them hold decoded code. It knows no guest addresses: what an address means is
// said by a translation (memory/translation.h). Several translations may share one physical memory.
//
// A frame is a page of host memory, known by its host address: a private page of the frame pool, or shared bytes (an
// image, the page of zeros) that are never written. A frame may have several addresses (aliases), so decoded code
// belongs to the frame: a write through any of them finds it.
//
// If lanes share the memory, each on a thread of its own, every access is atomic (memory/freestanding/shared_bytes.h),
// and writes to pages that may be executed are counted instead.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_set>

#include "base/types.h"
#include "memory/account.h"
#include "memory/frame_pool.h"
#include "memory/listeners.h"
#include "memory/window.h"

namespace kvrm::memory {

class Translation;

class PhysicalMemory {
 public:
  // Translations and lanes that reach frames without a translation each time, or keep what was decoded from them.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The frame, which the address means in this translation, holds code from now on: no store may reach it unnoticed.
    // `is_aliased`: other addresses may mean it there, too. Nothing is said of its addresses in other translations.
    virtual void code_decoded(const u8* frame, const Translation& translation, u64 address, bool is_aliased) = 0;
    // Its bytes are about to change, or it goes away: nothing decoded from it may be used again.
    virtual void code_written(const u8* frame) = 0;
  };

  explicit PhysicalMemory(AccountPointer account, bool is_shared = false)
      : is_shared_(is_shared), frames_(std::move(account)) {}

  bool is_shared() const { return is_shared_; }
  FramePool& frames() { return frames_; }
  const FramePool& frames() const { return frames_; }
  Listeners<Listener>& listeners() { return listeners_; }

  // Frames lie in a window where they can, from now on. False: the host refuses.
  bool use_window();
  Window* window() const { return window_.get(); }

  // These two are not for a shared memory.
  bool holds_code(const u8* frame) const { return code_.contains(frame); }
  void decode(const u8* frame, const Translation& translation, u64 address, bool is_aliased);
  // False: it held none. In a shared memory no frame does, and lanes ask without a lock.
  bool forget_code(const u8* frame);

  // Bytes inside a frame.
  void read(const u8* from, void* to, u64 count) const;
  void write(u8* to, const void* from, u64 count) const;
  // Of a shared memory.
  void compare_exchange(u8* at, const void* expected, const void* desired, void* observed, u32 size) const;
  void note_code_write() { code_version_.fetch_add(1, std::memory_order_release); }
  u64 code_version() const { return code_version_.load(std::memory_order_acquire); }
  // Whether accesses take locks (the host cannot exchange 16 bytes at once), so that none may be made in place.
  static bool takes_locks();

 private:
  const bool is_shared_;
  std::atomic<u64> code_version_ = 0;  // of a shared memory: counts writes to pages that may be executed
  std::unique_ptr<Window> window_;
  FramePool frames_;
  std::unordered_set<const u8*> code_;  // frames that hold decoded code
  Listeners<Listener> listeners_;
};

}  // namespace kvrm::memory
