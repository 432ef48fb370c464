// The translation of a Linux process: areas say what may be at an address, page entries say what is.
//
// Pages appear when they are first touched. An entry is the page's address with flags in its low bits; one lookup
// answers permission and copy-on-write. Shared bytes (images, the page of zeros) are never written: the first write to
// such a page moves it into a private frame. The exception is an image made to be written in place; it holds no code.
// So no frame with code that can be written has a second address here.
//
// A space with a window (memory/window.h) also shows its pages there, for translated code.
//
// A shared space is one memory for many lanes, each on a thread of its own. All its pages are there from the start, so
// that nothing but their bytes changes while lanes run. Its map changes only while all lanes are stopped.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "memory/account.h"
#include "memory/freestanding/areas.h"
#include "memory/guest_memory.h"
#include "memory/image.h"
#include "memory/page_entry.h"
#include "memory/physical_memory.h"
#include "memory/translation.h"

namespace kvrm::memory {

class AddressSpace final : public GuestMemory, public Translation, private PhysicalMemory::Listener {
 public:
  explicit AddressSpace(AccountPointer account, bool shares_memory = false);
  explicit AddressSpace(u64 limit_bytes, bool shares_memory = false)
      : AddressSpace(std::make_shared<Account>(limit_bytes), shares_memory) {}
  ~AddressSpace() override;

  // For a space that is still empty. False: the host refuses, or lanes share the space.
  bool use_window();
  // Null: there is no window, or the guest needs pages that a window cannot show well; this may begin at any time, and
  // holds from then on. Code that knows the window may still run after that.
  u8* window() const override { return window_ && window_loss_ == WindowLoss::kNone ? window_->base() : nullptr; }
  void give_up_window(WindowLoss why) override {
    if (window()) window_loss_ = why;
  }
  WindowLoss window_loss() const { return window_loss_; }
  bool is_written_elsewhere() const override { return is_written_elsewhere_; }

  bool read(u64 address, void* to, std::size_t size) const override;
  bool write(u64 address, const void* from, std::size_t size) override;
  std::size_t accessible(u64 address, std::size_t size, Protection how) const override;
  bool poke(u64 address, const void* from, std::size_t size) override;
  bool peek(u64 address, void* to, std::size_t size) const override;
  bool map(u64 address, u64 size, u32 protection) override;
  bool map_backed(u64 address, u64 size, u32 protection, const Backing& backing) override;
  bool map_image(u64 address, u64 size, u32 protection, std::shared_ptr<const Image> image, u64 offset) override;
  bool unmap(u64 address, u64 size) override;
  bool protect(u64 address, u64 size, u32 protection) override;
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override;
  bool discard(u64 address, u64 size) override;
  bool is_free(u64 address, u64 size) const override;
  bool is_mapped(u64 address, u64 size) const override;
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override;
  std::optional<Area> next_area(u64 address) const override;
  std::vector<Area> areas() const override;

  Frame translate(u64 address, Access access) override;
  const u8* find(u64 address) const override;
  bool is_shared() const { return physical().is_shared(); }

  // All there is, for another device to begin with: areas, and the pages that are not what their area says.
  struct SourceArea {
    u64 start, end;
    u32 protection;
    std::shared_ptr<const Image> image;  // null: zeros
    u64 offset;
  };
  std::vector<SourceArea> source_areas() const;
  struct PrivatePage {
    u64 address;
    const u8* bytes;
  };
  std::vector<PrivatePage> private_pages() const;

  u64 private_bytes() const { return physical().frames().bytes_in_use(); }
  // Of the guest: what the host keeps for it elsewhere counts there too.
  const AccountPointer& account() const { return physical().frames().account(); }
  u64 limit_bytes() const { return account()->limit(); }

 private:
  void code_decoded(const u8* frame, const Translation& translation, u64 address, bool is_aliased) override;
  void code_written(const u8* frame) override;

  FramePool& frames() { return physical().frames(); }
  bool touch_pages(u64 address, u64 size);
  void write_page(u64 entry, u64 offset, const void* from, u64 count);
  bool charge(u64 bytes);
  bool make_room(u32 areas = Areas::kMostGrowth);
  bool shows_in_place(u64 address, u64 size) const;
  u64 hold(std::shared_ptr<const Image> image);
  void let_go_of_images();
  void pages_replaced(u64 address, u64 size, bool may_end_image);
  void drop_pages(u64 address, u64 size);
  void map_changed();
  void page_moved(u64 address, bool held_code);

  const u64* find_entry(u64 address) const;
  u64* make_slot(u64 address);  // null: no memory left for page tables
  template <class Visit>
  void for_each_entry(u64 address, u64 size, Visit visit);
  u64 make_entry(u64 address, const memory::Area& area) const;
  u64 entry_for_read(u64 address, u32 required) const;
  bool make_private(u64 address, u64& entry);
  bool holds_code(u64 entry) const { return physical().holds_code(page_of(entry)); }
  bool may_store(u64 entry) const { return is_writable(entry) && !holds_code(entry); }
  bool forget_code(u64 entry);
  bool leave_window_if_full();
  void show(u64 address, u64& entry);
  u64* entry_in_window(const u8* frame);
  bool show_shared(u64 address);
  bool change_frame(u64 address, u64& entry, bool into_window);
  void protect_window(u64 address, u64 size, u32 protection);
  void move_frame(u64 to, u64& entry);
  void hide(u64 address, u64 size);
  void write_protected(u64 address, u64& entry, const void* from, u64 count);

  // A radix tree over the 36 bits of a page number, 12 bits a level.
  static constexpr u64 kFanout = 4096;
  struct Leaf {
    u64 entries[kFanout];
  };
  struct Branch {
    std::unique_ptr<Leaf> leaves[kFanout];
  };
  std::unique_ptr<Branch> branches_[kFanout];

  u64 tables_ = 0;
  u64 charged_ = 0;  // tables and areas on the account
  Window* window_ = nullptr;  // of the physical memory
  WindowLoss window_loss_ = WindowLoss::kNone;
  bool left_window_ = false;  // no page is in it any more
  bool is_written_elsewhere_ = false;  // since it first showed an image that is written in place
  u64 code_changes_ = 0;  // of the protection in the window
  std::vector<memory::Area> area_storage_;
  Areas areas_;
  // Images that areas show. An area's `image` is the index here plus one, its `source` the offset in the image.
  std::vector<std::shared_ptr<const Image>> images_;
};

// Visits the pages of the range that are present, skipping what was never touched.
template <class Visit>
void AddressSpace::for_each_entry(u64 address, u64 size, Visit visit) {
  constexpr u64 kLeafBytes = kFanout * kPageSize;
  constexpr u64 kBranchBytes = kFanout * kLeafBytes;
  const u64 end = address + size;
  for (u64 at = address; at < end;) {
    Branch* branch = branches_[at / kBranchBytes].get();
    Leaf* leaf = branch ? branch->leaves[at / kLeafBytes % kFanout].get() : nullptr;
    if (!leaf) {
      const u64 step = branch ? kLeafBytes : kBranchBytes;
      at = (at / step + 1) * step;
      continue;
    }
    const u64 leaf_end = std::min(end, (at / kLeafBytes + 1) * kLeafBytes);
    for (; at < leaf_end; at += kPageSize) {
      u64& entry = leaf->entries[at / kPageSize % kFanout];
      if (entry & kPagePresent) visit(at, entry);
    }
  }
}

}  // namespace kvrm::memory
