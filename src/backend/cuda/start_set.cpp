#include "backend/cuda/start_set.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "backend/kernel/snapshot.h"

namespace kvrm::backend::cuda {

using memory::kPageSize;

namespace {

// No lane can write it.
bool is_fixed_code(const memory::AddressSpace::SourceArea& area) { return memory::is_fixed_code(area.protection); }

constexpr u64 kMostFixedCode = u64{4} << 20;  // bytes of a raw lane's area that may become an image
constexpr u64 kMostOwnImages = u64{64} << 20;  // bytes that become images: on a GPU each takes ten more, decoded

// Appends an area's bytes: zeros where it has no page.
void append(std::vector<u8>& bytes, const memory::AddressSpace::SourceArea& area,
            std::span<const StartSet::PrivatePage> pages) {
  const u64 first = bytes.size();
  bytes.resize(first + (area.end - area.start));
  for (const auto& page : pages) {
    if (page.address < area.start || page.address >= area.end) continue;
    std::memcpy(bytes.data() + first + (page.address - area.start), page.bytes, kPageSize);
  }
}

u64 hash_of(const u8* bytes, u64 size) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace

u64 StartSet::add_image(const std::shared_ptr<const memory::Image>& image) {
  const auto [found, is_new] = image_offsets_.emplace(image.get(), image_bytes_);
  if (is_new) {
    images_.push_back(image);
    image_bytes_ += image->padded_size();
  }
  return found->second;
}

u64 StartSet::add_page(const u8* bytes) {
  const u64 hash = hash_of(bytes, kPageSize);
  const auto [first, last] = page_offsets_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    if (std::memcmp(page_bytes_.data() + found->second, bytes, kPageSize) == 0) return found->second;
  }
  const u64 offset = page_bytes_.size();
  page_bytes_.insert(page_bytes_.end(), bytes, bytes + kPageSize);
  page_offsets_.emplace(hash, offset);
  return offset;
}

// All pages of a shared area, once. Code that no lane can write becomes an image.
void StartSet::add_shared(const memory::AddressSpace::SourceArea& area, std::span<const PrivatePage> pages) {
  if (shared_areas_.contains(area.start)) return;
  SharedArea shared{page_bytes_.size(), nullptr};
  if (is_fixed_code(area)) {
    shared.image = image_of(area, pages);
    shared.offset = add_image(shared.image);
  } else {
    append(page_bytes_, area, pages);
  }
  shared_areas_.emplace(area.start, std::move(shared));
}

// Equal images are stored once.
std::shared_ptr<const memory::Image> StartSet::image_of(const memory::AddressSpace::SourceArea& area,
                                                        std::span<const PrivatePage> pages) {
  std::vector<u8> bytes;
  append(bytes, area, pages);
  const u64 hash = hash_of(bytes.data(), bytes.size());
  const auto [first, last] = own_images_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    const memory::Image& image = *found->second;
    if (image.size() == bytes.size() && std::memcmp(image.page(0), bytes.data(), bytes.size()) == 0)
      return found->second;
  }
  own_image_bytes_ += bytes.size();
  return own_images_.emplace(hash, std::make_shared<const memory::Image>(bytes))->second;
}

u32 StartSet::add(const Contents& contents) {
  Planned planned{contents, {}, names_.size()};
  names_ += contents.program;
  for (auto& area : planned.contents.areas) {
    if (contents.shares_memory) {
      add_shared(area, contents.pages);
      continue;
    }
    // Raw lanes with the same code run it together.
    if (!contents.is_process && !area.image && is_fixed_code(area) && area.end - area.start <= kMostFixedCode &&
        own_image_bytes_ + (area.end - area.start) <= kMostOwnImages) {
      area.image = image_of(area, contents.pages);
      area.offset = 0;
    }
    if (area.image) (void)add_image(area.image);
  }
  if (contents.shares_memory) planned.contents.pages.clear();
  for (const auto& page : planned.contents.pages) {
    const auto area = std::ranges::find_if(
        planned.contents.areas, [&](const auto& one) { return page.address >= one.start && page.address < one.end; });
    const u64 at = page.address - area->start + area->offset;
    const bool is_in_image = area->image && at < area->image->padded_size() &&
                             std::memcmp(area->image->page(at), page.bytes, kPageSize) == 0;
    planned.pages.push_back(is_in_image ? PageSource{true, image_offsets_.at(area->image.get()) + at}
                                        : PageSource{false, add_page(page.bytes)});
  }
  most_areas_ = std::max(most_areas_, static_cast<u32>(contents.areas.size()));
  area_count_ += contents.areas.size();
  start_page_count_ += planned.contents.pages.size();
  starts_.push_back(std::move(planned));
  return size() - 1;
}

StartSet::Records StartSet::relocate(const Bases& bases) const {
  Records records;
  for (const Planned& planned : starts_) {
    const Contents& contents = planned.contents;
    kernel::Start start{};
    kernel::ResumeState& resume_state = start.resume_state;
    resume_state.areas =
        reinterpret_cast<const memory::Area*>(bases.areas + records.areas.size() * sizeof(memory::Area));
    resume_state.area_count = static_cast<u32>(contents.areas.size());
    for (const auto& area : contents.areas) {
      memory::Area one{area.start, area.end, area.protection, 0, 0, 0};
      if (contents.shares_memory) {
        one.flags = memory::kAreaSource | memory::kAreaLaneShared;
        const SharedArea& shared = shared_areas_.at(area.start);
        one.source = (shared.image ? bases.images : bases.pages) + shared.offset;
        one.image = 1;
      } else if (area.image) {
        // Pages after the image's end would be zeros; the loader maps none.
        one.flags = memory::kAreaSource;
        one.source = bases.images + image_offsets_.at(area.image.get()) + area.offset;
        one.image = 1;
      }
      records.areas.push_back(one);
    }
    resume_state.pages = reinterpret_cast<const kernel::StartPage*>(bases.start_pages +
                                                                    records.pages.size() * sizeof(kernel::StartPage));
    resume_state.page_count = static_cast<u32>(contents.pages.size());
    for (std::size_t i = 0; i < contents.pages.size(); ++i) {
      const PageSource& page = planned.pages[i];
      records.pages.push_back({contents.pages[i].address, (page.in_image ? bases.images : bases.pages) + page.offset});
    }
    resume_state.status = kernel::Status::kRunning;
    resume_state.registers = contents.cpu;
    resume_state.process = contents.process;
    start.is_process = contents.is_process;
    for (std::size_t i = 0; i < 3; ++i) {
      start.has_stat[i] = contents.stats[i].has_value();
      if (contents.stats[i]) start.stats[i] = *contents.stats[i];
    }
    start.program_size = static_cast<u32>(contents.program.size());
    start.program = reinterpret_cast<const char*>(bases.names + planned.name);
    records.starts.push_back(start);
  }
  return records;
}

void StartSet::give_snapshots(std::vector<kernel::Start>& starts, std::span<const u32> jobs_of_start, u64 room) {
  u32 given = 0;
  for (std::size_t i = 0; i < starts.size() && given < kMostSnapshots; ++i) {
    if (!starts[i].is_process || jobs_of_start[i] < 2) continue;
    starts[i].snapshot = reinterpret_cast<kernel::Snapshot*>(room + given++ * kernel::kSnapshotBytes);
  }
}

std::optional<StartSet::FixedCode> StartSet::fixed_code(const Planned& planned,
                                                        const memory::AddressSpace::SourceArea& area) const {
  const bool shares_memory = planned.contents.shares_memory;
  const memory::Image* image = shares_memory ? shared_areas_.at(area.start).image.get() : area.image.get();
  if (!image || !is_fixed_code(area)) return std::nullopt;
  return FixedCode{image, shares_memory ? 0 : area.offset};
}

std::vector<StartSet::SharedCode> StartSet::shared_code() const {
  std::map<std::pair<u64, u64>, SharedCode> found;  // by address and offset
  for (const Planned& planned : starts_) {
    for (const auto& area : planned.contents.areas) {
      const auto code = fixed_code(planned, area);
      if (!code) continue;
      const u64 offset = image_offsets_.at(code->image) + code->offset;
      const auto* words = reinterpret_cast<const u32*>(code->image->page(0) + code->offset);
      found.emplace(std::pair(area.start, offset),
                    SharedCode{area.start, offset, std::span(words, (area.end - area.start) / 4)});
    }
  }
  std::vector<SharedCode> codes;
  for (const auto& [key, code] : found) codes.push_back(code);
  return codes;
}

std::optional<u32> StartSet::word_at(u32 start, u64 pc) const {
  const Planned& planned = starts_.at(start);
  for (const auto& area : planned.contents.areas) {
    if (pc < area.start || pc >= area.end || pc % 4 != 0) continue;
    const auto code = fixed_code(planned, area);
    if (!code) return std::nullopt;
    return static_cast<u32>((image_offsets_.at(code->image) + code->offset + (pc - area.start)) / 4);
  }
  return std::nullopt;
}

}  // namespace kvrm::backend::cuda
