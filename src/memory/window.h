// A guest's memory as one reservation of host addresses: the guest address A lies at base() + A. So translated code
// accesses memory with one host instruction, and the host's MMU checks permission.
//
// All pages are hidden (PROT_NONE) at first. A page is shown when the slow path has resolved it, with no more rights
// than the guest's TLB would give, so that every other access faults and ends in the slow path
// (memory/window_faults.h).
#pragma once

#include <map>
#include <memory>

#include "base/types.h"
#include "memory/freestanding/page.h"

namespace kvrm::memory {

class Window {
 public:
  static constexpr u64 kBytes = u64{1} << 39;  // the layout of a Linux process fits (linux/freestanding/layout.h)
  // Never accessible: code checks a base register only, and offsets up to this size lead here.
  static constexpr u64 kGuardBytes = u64{1} << 32;

  // Null: the host has no room for it, or this build cannot use it.
  static std::unique_ptr<Window> reserve();
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  u8* base() const { return base_; }
  static bool has(u64 address) { return address < kBytes; }
  u8* at(u64 address) const { return base_ + address; }
  bool holds(const u8* page) const { return page >= base_ && page < base_ + kBytes; }

  // Makes a page readable and writable, for a private frame. Its bytes are zeros if it was hidden or showed zeros, and
  // unknown if it showed an image. Null: the host refuses.
  u8* open(u64 address);
  // Pages that were hidden become readable: zeros, or the bytes of an image's pages. False: the host refuses.
  bool show_zeros(u64 address, u64 size);
  bool show_image(u64 address, u64 size, const u8* pages);
  // For a page that was opened. Throws std::bad_alloc if the host refuses.
  void set_writable(u64 address, bool writable);
  // No page of the range can be written any more.
  void make_read_only(u64 address, u64 size);
  // Hides the range; what was in its pages is gone.
  void hide(u64 address, u64 size);

  // The content of the page is gone; it stays as it is otherwise.
  void discard(u64 address);
  // Whether the host's mappings may be split further.
  bool may_split() const;

  // Mappings of the host that all windows of the process take at most.
  static u64 mappings();

 private:
  enum class Kind : u8 { kRead, kWrite, kImage };
  struct Run {
    u64 end;
    Kind kind;
  };

  explicit Window(u8* base) : base_(base) {}
  void note(u64 address, u64 size, const Kind* kind);
  const Run* find(u64 address) const;

  u8* const base_;
  // Pages that are not hidden, by their first address; neighbors of one kind are one run, as they are one mapping of
  // the host.
  std::map<u64, Run> runs_;
};

}  // namespace kvrm::memory
