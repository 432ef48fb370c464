// A guest's address space on the host: areas say what may be there, page entries say what is.
//
// Pages appear when they are first touched. An entry is the page's address with flags in its low bits; one lookup
// answers permission, copy-on-write and whether the page holds decoded code. Shared bytes (images, the page of zeros)
// are never written: the first write to such a page moves it into a private frame.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/cpu.h"
#include "memory/areas.h"
#include "memory/frame_pool.h"
#include "memory/guest_memory.h"
#include "memory/image.h"
#include "memory/paged.h"

namespace kvrm::memory {

// Told when decoded code may no longer be what its page holds.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  virtual void code_written(const u8* page) = 0;   // the page's bytes are about to change, or it goes away
  virtual void code_remapped() = 0;                // an address may now show another page
};

class AddressSpace final : public GuestMemory {
 public:
  explicit AddressSpace(u64 limit_bytes);
  ~AddressSpace() override;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  bool read(u64 address, void* to, std::size_t size) const override;
  bool write(u64 address, const void* from, std::size_t size) override;
  std::size_t accessible(u64 address, std::size_t size, Protection how) const override;
  bool poke(u64 address, const void* from, std::size_t size) override;
  bool peek(u64 address, void* to, std::size_t size) const override;
  bool map(u64 address, u64 size, u32 protection) override;
  bool map_image(u64 address, u64 size, u32 protection, std::shared_ptr<const Image> image, u64 offset) override;
  void unmap(u64 address, u64 size) override;
  bool protect(u64 address, u64 size, u32 protection) override;
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override;
  bool discard(u64 address, u64 size) override;
  bool is_free(u64 address, u64 size) const override;
  bool is_mapped(u64 address, u64 size) const override;
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override;
  std::vector<Area> areas() const override;

  // The engine's side.
  Paged<AddressSpace> policy() { return {&cache_, this}; }
  SlowAccess read_slow(u64 address, void* to, u32 size);
  SlowAccess write_slow(u64 address, const void* from, u32 size);
  SlowAccess exchange_slow(u64 address, const void* expected, const void* desired, void* observed, u32 size);
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

 private:
  struct Resolved {
    Trap trap;
    u8* page;
  };

  void make_room();
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
  const u8* page_for_read(u64 address, u32 required) const;
  bool make_private(u64& entry);
  void forget_code(u64& entry);
  Resolved resolve(u64 address, Access access);
  template <class Copy>
  SlowAccess each_page(u64 address, u32 size, Access access, Copy copy);

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
  FramePool frames_;
  std::vector<memory::Area> area_storage_;
  Areas areas_;
  // Images that areas show. An area's `image` is the index here plus one, its `source` the offset in the image.
  std::vector<std::shared_ptr<const Image>> images_;
  CodeListener* listener_ = nullptr;
  TranslationCache cache_;
};

}  // namespace kvrm::memory
