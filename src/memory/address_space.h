// A guest's address space on the host: areas say what may be there, page entries say what is.
//
// Pages appear when they are first touched. An entry is the page's address with flags in its low bits; one lookup
// answers permission, copy-on-write and whether the page holds decoded code. Shared bytes (images, the page of zeros)
// are never written: the first write to such a page moves it into a private frame. The exception is an image made to be
// written in place; it holds no code.
//
// A space with a window (memory/window.h) also shows its pages there, for translated code.
//
// A shared space is one memory for many lanes, each on a thread of its own. All its pages are there from the start, so
// that nothing but their bytes changes while lanes run, and every access to them is atomic
// (memory/freestanding/shared_bytes.h). Its map changes only while all lanes are stopped.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "memory/account.h"
#include "memory/frame_pool.h"
#include "memory/freestanding/areas.h"
#include "memory/freestanding/paged.h"
#include "memory/guest_memory.h"
#include "memory/image.h"
#include "memory/page_entry.h"
#include "memory/window.h"

namespace kvrm::memory {

// Told when decoded code may no longer be what its page holds.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  virtual void code_written(const u8* page) = 0;  // the page's bytes are about to change, or it goes away
  virtual void code_remapped() = 0;  // an address may now show another page
  virtual void other_lane_wrote_code() {}  // another lane of a shared memory may have written code
};

class AddressSpace final : public GuestMemory {
 public:
  explicit AddressSpace(AccountPointer account, bool shares_memory = false);
  explicit AddressSpace(u64 limit_bytes, bool shares_memory = false)
      : AddressSpace(std::make_shared<Account>(limit_bytes), shares_memory) {}
  ~AddressSpace() override;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // For a space that is still empty. False: the host refuses, or lanes share the space.
  bool use_window();
  // Where guest address 0 lies on the host. Null: there is no window, or the guest needs pages that a window cannot
  // show well; this may begin at any time, and holds from then on. Code that knows the window may still run after that.
  u8* window() const { return window_ && !gave_up_window_ ? window_->base() : nullptr; }
  void give_up_window() { gave_up_window_ = true; }

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

  // The engine's side.
  Paged<AddressSpace> policy() { return {&cache_, this}; }  // of the one lane; lanes of a shared space have their own
  SlowAccess read_slow(Tlb& cache, u64 address, void* to, u32 size);
  SlowAccess write_slow(Tlb& cache, u64 address, const void* from, u32 size);
  SlowAccess exchange_slow(Tlb& cache, u64 address, const void* expected, const void* desired, void* observed,
                           u32 size);
  void fence_slow(Tlb& cache);
  bool is_shared() const { return is_shared_; }
  // Tells the lane of a shared space if some lane has written where code may be since its last check.
  void check_code_version(Tlb& cache);
  // The bytes of the page to decode from, marked so that a write to it is noticed. The page pointer identifies the
  // physical page for as long as the listener is not told otherwise.
  struct CodePage {
    Trap trap;
    const u8* bytes;
  };
  CodePage code_page(u64 address);
  void set_code_listener(CodeListener* listener) { listener_ = listener; }
  // Whether decoded code refers to any of these bytes.
  bool holds_code(u64 address, u64 size) const;

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

  u64 private_bytes() const { return frames_.bytes_in_use(); }
  // Of the guest: what the host keeps for it elsewhere counts there too.
  const AccountPointer& account() const { return frames_.account(); }
  u64 limit_bytes() const { return account()->limit(); }

 private:
  struct Resolved {
    Trap trap;
    u8* page;
    u64 entry;
  };

  bool touch_pages(u64 address, u64 size);
  void read_page(u64 entry, u64 offset, void* to, u64 count) const;
  void write_page(u64 entry, u64 offset, const void* from, u64 count);
  void note_write(u64 entry);
  bool charge(u64 bytes);
  bool make_room(u32 areas = Areas::kMostGrowth);
  bool shows_in_place(u64 address, u64 size) const;
  u64 hold(std::shared_ptr<const Image> image);
  void let_go_of_images();
  void pages_replaced(u64 address, u64 size, bool may_end_image);
  void drop_pages(u64 address, u64 size);
  void map_changed();

  const u64* find_entry(u64 address) const;
  u64* make_slot(u64 address);  // null: no memory left for page tables
  template <class Visit>
  void for_each_entry(u64 address, u64 size, Visit visit);
  u64 make_entry(u64 address, const memory::Area& area) const;
  u64 entry_for_read(u64 address, u32 required) const;
  bool make_private(u64 address, u64& entry);
  void forget_code(u64& entry);
  Resolved resolve(Tlb& cache, u64 address, Access access);
  bool leave_window_if_full();
  void show(u64 address, u64& entry);
  bool show_shared(u64 address);
  bool change_frame(u64 address, u64& entry, bool into_window);
  void protect_window(u64 address, u64 size, u32 protection);
  void move_frame(u64 to, u64& entry);
  void hide(u64 address, u64 size);
  void write_protected(u64 address, u64& entry, const void* from, u64 count);
  template <class Copy>
  SlowAccess each_page(Tlb& cache, u64 address, u32 size, Access access, Copy copy);

  // A radix tree over the 36 bits of a page number, 12 bits a level.
  static constexpr u64 kFanout = 4096;
  struct Leaf {
    u64 entries[kFanout];
  };
  struct Branch {
    std::unique_ptr<Leaf> leaves[kFanout];
  };
  std::unique_ptr<Branch> branches_[kFanout];

  const bool is_shared_;
  std::atomic<u64> code_version_ = 0;  // of a shared space: counts writes to pages that may be executed
  u64 tables_ = 0;
  u64 charged_ = 0;  // tables and areas on the account
  std::unique_ptr<Window> window_;
  bool gave_up_window_ = false;
  bool left_window_ = false;  // no page is in it any more
  u64 code_changes_ = 0;  // of the protection in the window
  FramePool frames_;
  std::vector<memory::Area> area_storage_;
  Areas areas_;
  // Images that areas show. An area's `image` is the index here plus one, its `source` the offset in the image.
  std::vector<std::shared_ptr<const Image>> images_;
  CodeListener* listener_ = nullptr;
  Tlb cache_;
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
