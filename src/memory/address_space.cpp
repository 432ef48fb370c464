#include "memory/address_space.h"

#include <algorithm>
#include <cstring>

#include "memory/freestanding/policy.h"
#include "memory/page_entry.h"

namespace kvrm::memory {

AddressSpace::AddressSpace(AccountPointer account, bool shares_memory)
    : Translation(std::make_shared<PhysicalMemory>(std::move(account), shares_memory)) {
  physical().listeners().add(this);
}
AddressSpace::~AddressSpace() {
  physical().listeners().remove(this);
  account()->release(charged_);
}

bool AddressSpace::charge(u64 bytes) {
  if (!account()->charge(bytes)) return false;
  charged_ += bytes;
  return true;
}

// --- areas -----------------------------------------------------------------------------------------------------

// Before every change of the areas: the array grows with them. False: there is no memory left for that. The first few
// are free, so that a guest with a tiny limit can start.
bool AddressSpace::make_room(u32 areas) {
  constexpr std::size_t kFreeAreas = 256;
  const std::size_t before = area_storage_.size();
  if (before - areas_.count() >= areas) return true;
  const std::size_t now = 2 * std::size_t{areas_.count()} + 16;
  const std::size_t charged = now - std::max(before, std::min(now, kFreeAreas));
  if (!charge(charged * sizeof(memory::Area))) return false;
  std::vector<memory::Area> larger(now);
  areas_.move_to(larger.data(), static_cast<u32>(larger.size()));
  area_storage_ = std::move(larger);
  return true;
}

u64 AddressSpace::hold(std::shared_ptr<const Image> image) {
  auto slot = std::find(images_.begin(), images_.end(), image);
  if (slot == images_.end()) slot = std::find(images_.begin(), images_.end(), nullptr);
  if (slot == images_.end()) slot = images_.insert(slot, nullptr);
  *slot = std::move(image);
  return static_cast<u64>(slot - images_.begin()) + 1;
}

// Frees the images that no area shows any more.
void AddressSpace::let_go_of_images() {
  std::vector<bool> shown(images_.size() + 1);
  for (u32 i = 0; i < areas_.count(); ++i)
    if (areas_[i].flags & kAreaSource) shown[areas_[i].image] = true;
  for (std::size_t i = 0; i < images_.size(); ++i)
    if (!shown[i + 1]) images_[i] = nullptr;
}

bool AddressSpace::map(u64 address, u64 size, u32 protection) { return map_backed(address, size, protection, {}); }

bool AddressSpace::map_backed(u64 address, u64 size, u32 protection, const Backing& backing) {
  if (!areas_.may_change(address, size) || (is_shared() && account()->room() < size)) return false;
  const bool may_end_image = areas_.has_source(address, size);
  if (!make_room()) return false;
  (void)areas_.map_backed(address, size, protection, backing);
  pages_replaced(address, size, may_end_image);
  return touch_pages(address, size);
}

bool AddressSpace::map_image(u64 address, u64 size, u32 protection, std::shared_ptr<const Image> image, u64 offset) {
  if (!image) return map(address, size, protection);
  if (!areas_.may_change(address, size) || page_offset(offset) != 0) return false;
  const bool in_place = image->is_written_in_place();
  if (in_place) give_up_window(WindowLoss::kHostWrites);  // such pages lie elsewhere
  if (in_place ? (protection & kExecute) != 0 : is_shared() && account()->room() < size) return false;
  const bool may_end_image = areas_.has_source(address, size);
  if (!make_room()) return false;
  (void)areas_.map_source(address, size, protection, offset, hold(std::move(image)));
  is_written_elsewhere_ |= in_place;
  pages_replaced(address, size, may_end_image);
  return touch_pages(address, size);
}

// A shared space has all its pages from the start.
bool AddressSpace::touch_pages(u64 address, u64 size) {
  if (!is_shared()) return true;
  const memory::Area* area = areas_.find(address);
  for (u64 at = address; at < address + size; at += kPageSize) {
    u64* slot = make_slot(at);
    if (slot) *slot = make_entry(at, *area);
    if (slot && ((*slot & kPageInPlace) || make_private(at, *slot))) continue;
    unmap(address, size);
    return false;
  }
  return true;
}

bool AddressSpace::unmap(u64 address, u64 size) {
  if (!valid_range(address, size)) return false;
  const bool may_end_image = areas_.has_source(address, size);
  if (!make_room()) return false;
  (void)areas_.unmap(address, size);
  pages_replaced(address, size, may_end_image);
  return true;
}

// The areas of the range are others now.
void AddressSpace::pages_replaced(u64 address, u64 size, bool may_end_image) {
  drop_pages(address, size);
  if (may_end_image) let_go_of_images();
  map_changed();
}

bool AddressSpace::protect(u64 address, u64 size, u32 protection) {
  if (!areas_.may_change(address, size)) return false;
  if ((protection & kExecute) && shows_in_place(address, size)) return false;
  if (!make_room()) return false;
  const bool whole = areas_.protect(address, size, protection);
  for_each_entry(address, size,
                 [&](u64, u64& entry) { entry = (entry & ~kPermissions) | (protection & kPermissions); });
  protect_window(address, size, protection);
  map_changed();
  return whole;
}

// Whether the host or another guest may write to the range unnoticed: then decoded code may not come from there.
bool AddressSpace::shows_in_place(u64 address, u64 size) const {
  for (u32 i = 0; i < areas_.count(); ++i) {
    const memory::Area& area = areas_[i];
    if (!(area.flags & kAreaSource) || area.end <= address || area.start >= address + size) continue;
    if (images_[area.image - 1]->is_written_in_place()) return true;
  }
  return false;
}

bool AddressSpace::move(u64 from, u64 from_size, u64 to, u64 to_size) {
  // Three changes of the areas follow, and after the first none can be undone.
  if (is_shared() || !areas_.may_move(from, from_size, to, to_size) || !make_room(3 * Areas::kMostGrowth)) return false;
  unmap(to, to_size);
  // All page tables first: without them nothing moves.
  const u64 kept = std::min(from_size, to_size);
  bool whole = true;
  for_each_entry(from, kept, [&](u64 address, u64&) { whole = whole && make_slot(address - from + to); });
  if (!whole) return false;
  areas_.move(from, from_size, to, to_size);
  for_each_entry(from, kept, [&](u64 address, u64& entry) {
    forget_code(entry);
    move_frame(address - from + to, entry);
    *make_slot(address - from + to) = entry;
    entry = 0;
  });
  unmap(from, from_size);  // pages of an end that was cut off
  let_go_of_images();
  return true;
}

bool AddressSpace::discard(u64 address, u64 size) {
  if (is_shared() || !valid_range(address, size)) return false;
  drop_pages(address, size);
  map_changed();
  return is_mapped(address, size);
}

bool AddressSpace::is_free(u64 address, u64 size) const { return areas_.is_free(address, size); }

bool AddressSpace::is_mapped(u64 address, u64 size) const { return areas_.is_mapped(address, size); }

std::optional<u64> AddressSpace::find_free(u64 size, u64 floor, u64 limit) const {
  const u64 found = areas_.find_free(size, floor, limit);
  return found == kNoRoom ? std::nullopt : std::optional(found);
}

std::optional<GuestMemory::Area> AddressSpace::next_area(u64 address) const {
  const Area* area = areas_.next(address);
  return area ? std::optional(*area) : std::nullopt;
}

std::vector<GuestMemory::Area> AddressSpace::areas() const {
  std::vector<Area> result;
  for (u32 i = 0; i < areas_.count(); ++i) result.push_back(areas_[i]);
  return result;
}

std::vector<AddressSpace::SourceArea> AddressSpace::source_areas() const {
  std::vector<SourceArea> result;
  for (u32 i = 0; i < areas_.count(); ++i) {
    const memory::Area& area = areas_[i];
    const bool has_source = (area.flags & kAreaSource) != 0;
    result.push_back({area.start, area.end, area.protection, has_source ? images_[area.image - 1] : nullptr,
                      has_source ? area.source : 0});
  }
  return result;
}

std::vector<AddressSpace::PrivatePage> AddressSpace::private_pages() const {
  std::vector<PrivatePage> result;
  for (u64 i = 0; i < kFanout; ++i) {
    for (u64 j = 0; branches_[i] && j < kFanout; ++j) {
      const Leaf* leaf = branches_[i]->leaves[j].get();
      for (u64 k = 0; leaf && k < kFanout; ++k) {
        if (leaf->entries[k] & kPagePrivate) {
          result.push_back({((i * kFanout + j) * kFanout + k) << kPageShift, page_of(leaf->entries[k])});
        }
      }
    }
  }
  return result;
}

// Every change of the map ends here: whatever was cached about addresses is forgotten.
void AddressSpace::map_changed() {
  lanes().each([](Translation::Listener& lane) { lane.map_changed(); });
}

// The page has another frame.
void AddressSpace::page_moved(u64 address, bool held_code) {
  lanes().each([&](Translation::Listener& lane) { lane.page_moved(address, held_code); });
}

// --- page entries ------------------------------------------------------------------------------------------------

const u64* AddressSpace::find_entry(u64 address) const {
  const u64 page = address >> kPageShift;
  const Branch* branch = branches_[page >> 24].get();
  if (!branch) return nullptr;
  const Leaf* leaf = branch->leaves[page >> 12 & (kFanout - 1)].get();
  return leaf ? &leaf->entries[page & (kFanout - 1)] : nullptr;
}

// Tables are the guest's memory as well: touching pages far apart must not cost the host more than the limit. The first
// few are free, so that a guest with a tiny limit can start.
u64* AddressSpace::make_slot(u64 address) {
  constexpr u64 kFreeTables = 64;
  const auto may_grow = [&](u64 bytes) { return tables_++ < kFreeTables || charge(bytes); };
  const u64 page = address >> kPageShift;
  auto& branch = branches_[page >> 24];
  if (!branch) {
    if (!may_grow(sizeof(Branch))) return nullptr;
    branch = std::make_unique<Branch>();
  }
  auto& leaf = branch->leaves[page >> 12 & (kFanout - 1)];
  if (!leaf) {
    if (!may_grow(sizeof(Leaf))) return nullptr;
    leaf = std::make_unique<Leaf>();
  }
  return &leaf->entries[page & (kFanout - 1)];
}

void AddressSpace::drop_pages(u64 address, u64 size) {
  for_each_entry(address, size, [&](u64, u64& entry) {
    forget_code(entry);
    if (entry & kPagePrivate) frames().release(page_of(entry));
    entry = 0;
  });
  hide(address, size);
}

// A page that was never touched shows its image, or zeros.
u64 AddressSpace::make_entry(u64 address, const memory::Area& area) const {
  const u8* page = kZeros;
  u64 in_place = 0;
  if (area.flags & kAreaSource) {
    const Image& image = *images_[area.image - 1];
    const u64 offset = area.source + (address - area.start);
    if (offset < image.padded_size()) {
      page = image.page(offset);
      if (image.is_written_in_place()) in_place = kPageInPlace;
    }
  }
  return entry_of(page, kPagePresent | in_place | (area.protection & kPermissions));
}

// The entry of the page that holds address, if it is mapped with all the required permissions; otherwise 0.
u64 AddressSpace::entry_for_read(u64 address, u32 required) const {
  if (address >= kAddressLimit) return 0;
  const u64* found = find_entry(address);
  u64 entry = found ? *found : 0;
  if (!(entry & kPagePresent)) {
    const memory::Area* area = areas_.find(address);
    if (!area) return 0;
    entry = make_entry(page_base(address), *area);
  }
  return (entry & required) == required ? entry : 0;
}

bool AddressSpace::make_private(u64 address, u64& entry) {
  u8* frame = frames().allocate(page_base(address), (entry & kPageRead) && window());
  if (!frame) return false;
  // A fresh page of the window has zeros already.
  if (page_of(entry) != kZeros || !window_ || !window_->holds(frame)) std::memcpy(frame, page_of(entry), kPageSize);
  const bool held_code = forget_code(entry);
  entry = entry_of(frame, (entry & kPageFlags & ~kPageShown) | kPagePrivate);
  page_moved(address, held_code);
  return true;
}

// The page is about to change, to go away or to be replaced: nothing decoded from it may be used again. That holds
// for shared bytes too, since an image may be freed and its storage come back as another.
bool AddressSpace::forget_code(u64 entry) { return physical().forget_code(page_of(entry)); }

Translation::Frame AddressSpace::translate(u64 address, Access access) {
  const auto fault = [](Trap trap) { return Frame{trap, nullptr, 0, false}; };
  if (address >= kAddressLimit) return fault(Trap::kUnmapped);
  const u64* found = find_entry(address);
  const memory::Area* area = nullptr;
  if (!found || !(*found & kPagePresent)) {
    area = areas_.find(address);
    if (!area) return fault(Trap::kUnmapped);
  }
  u64* slot = make_slot(address);
  if (!slot) return fault(Trap::kOutOfMemory);
  u64& entry = *slot;
  if (!(entry & kPagePresent)) {
    entry = make_entry(page_base(address), *area);
  }
  if (!(entry & static_cast<u64>(access))) return fault(Trap::kPermission);
  if (access == Access::kWrite) {
    if (!(entry & kPageOwn)) {
      if (!make_private(address, entry)) return fault(Trap::kOutOfMemory);
    } else {
      forget_code(entry);
    }
  }
  if (!Window::has(address)) give_up_window(WindowLoss::kAbove);
  show(address, entry);
  const u64 rights = entry & (is_writable(entry) ? kPermissions : kPermissions & ~kPageWrite);
  return {Trap::kNone, page_of(entry), static_cast<u32>(rights), false};
}

const u8* AddressSpace::find(u64 address) const {
  const u64* entry = address < kAddressLimit ? find_entry(address) : nullptr;
  return entry && (*entry & kPagePresent) ? page_of(*entry) : nullptr;
}

// --- accesses of the host ----------------------------------------------------------------------------------------

// Bytes inside a page. A lane of a shared space that decoded this page must hear of it.
void AddressSpace::write_page(u64 entry, u64 offset, const void* from, u64 count) {
  physical().write(page_of(entry) + offset, from, count);
  if (is_shared() && (entry & kPageExecute)) physical().note_code_write();
}

bool AddressSpace::read(u64 address, void* to, std::size_t size) const {
  if (accessible(address, size, kRead) < size) return false;
  return peek(address, to, size);
}

bool AddressSpace::write(u64 address, const void* from, std::size_t size) {
  if (accessible(address, size, kWrite) < size) return false;
  return poke(address, from, size);
}

std::size_t AddressSpace::accessible(u64 tagged, std::size_t size, Protection how) const {
  const u64 address = reported_address(tagged);
  std::size_t done = 0;
  while (done < size) {
    const u64 at = address + done;
    if (!entry_for_read(at, how)) break;
    done += std::min<std::size_t>(size - done, kPageSize - page_offset(at));
  }
  return done;
}

bool AddressSpace::peek(u64 tagged, void* to, std::size_t size) const {
  const u64 address = reported_address(tagged);
  for (std::size_t done = 0; done < size;) {
    const u64 at = address + done;
    const u64 entry = entry_for_read(at, 0);
    if (!entry) return false;
    const std::size_t count = std::min<std::size_t>(size - done, kPageSize - page_offset(at));
    physical().read(page_of(entry) + page_offset(at), static_cast<u8*>(to) + done, count);
    done += count;
  }
  return true;
}

bool AddressSpace::poke(u64 tagged, const void* from, std::size_t size) {
  const u64 address = reported_address(tagged);
  if (accessible(address, size, kNoAccess) < size) return false;
  for (std::size_t done = 0; done < size;) {
    const u64 at = address + done;
    u64* slot = make_slot(at);
    if (!slot) return false;
    u64& entry = *slot;
    if (!(entry & kPagePresent)) entry = make_entry(page_base(at), *areas_.find(at));
    if (!(entry & kPageOwn)) {
      if (!make_private(at, entry)) return false;
    } else {
      forget_code(entry);
    }
    const std::size_t count = std::min<std::size_t>(size - done, kPageSize - page_offset(at));
    show(at, entry);
    write_protected(at, entry, static_cast<const u8*>(from) + done, count);
    done += count;
  }
  return true;
}

}  // namespace kvrm::memory
