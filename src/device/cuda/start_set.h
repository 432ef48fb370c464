// What lanes begin with, collected on the host before it is placed on a device.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/lanes/lane.h"
#include "memory/address_space.h"

namespace kvrm::device::cuda {

class StartSet {
 public:
  using PrivatePage = memory::AddressSpace::PrivatePage;
  struct Contents {
    Cpu cpu{};
    bool is_process = false;
    std::vector<memory::AddressSpace::SourceArea> areas;
    std::vector<PrivatePage> pages;  // not as their area says; copied
    linux_abi::LaneProcess process;
    std::array<std::optional<linux_abi::GuestStat>, 3> stats;
    std::string program;  // what /proc/self/exe names
    // All lanes of the set see and write the same pages. Their areas are the same, every page of them is among `pages`,
    // and those of the first count.
    bool common = false;
  };

  // The number of the start. Images and equal pages are kept once, whoever uses them.
  u32 add(const Contents& contents);
  u32 size() const { return static_cast<u32>(starts_.size()); }
  u32 most_areas() const { return most_areas_; }

  // Everything with the addresses it has once image bytes, pages, areas, start pages and names are where the device
  // puts them.
  struct Bases {
    u64 images, pages, areas, start_pages, names;
  };
  struct Placed {
    std::vector<lanes::Start> starts;
    std::vector<memory::Area> areas;
    std::vector<lanes::StartPage> pages;
  };
  Placed placed_at(const Bases& bases) const;
  // Starts with several jobs may have something in common: gives the first so many of them room for it.
  static constexpr u32 kMostBeginnings = 16;
  static void give_beginnings(std::vector<lanes::Start>& starts, std::span<const u32> jobs_of_start, u64 room);
  // How many of these jobs each start has.
  template <class Jobs>
  std::vector<u32> jobs_of_start(const Jobs& jobs) const {
    std::vector<u32> counts(size());
    for (const auto& job : jobs) ++counts[job.start];
    return counts;
  }

  // Code of the images that lanes begin with and cannot write, as they will see it.
  struct SharedCode {
    u64 start;
    u64 offset;  // in the bytes of all images
    std::span<const u32> words;
  };
  std::vector<SharedCode> shared_code() const;
  // The number of the word at pc among those of all images, if lanes with this start run it from there.
  std::optional<u32> word_at(u32 start, u64 pc) const;

  const std::vector<std::shared_ptr<const memory::Image>>& images() const { return images_; }
  u64 image_bytes() const { return image_bytes_; }  // of all images, one after the other
  const std::vector<u8>& page_bytes() const { return page_bytes_; }
  const std::string& names() const { return names_; }
  u64 area_count() const { return area_count_; }
  u64 start_page_count() const { return start_page_count_; }

 private:
  struct PlacedPage {
    bool in_image;
    u64 offset;  // among the images, or in page_bytes_
  };
  struct Planned {
    Contents contents;  // without bytes
    std::vector<PlacedPage> pages;
    u64 name;  // in names_
  };
  u64 place_image(const std::shared_ptr<const memory::Image>& image);
  u64 place_page(const u8* bytes);
  std::shared_ptr<const memory::Image> image_of(const memory::AddressSpace::SourceArea& area,
                                                std::span<const PrivatePage> pages);
  // What a planned area shows of an image, if it is code that no lane can write.
  struct FixedCode {
    const memory::Image* image;
    u64 offset;  // in the image
  };
  std::optional<FixedCode> fixed_code(const Planned& planned, const memory::AddressSpace::SourceArea& area) const;
  void place_common(const memory::AddressSpace::SourceArea& area, std::span<const PrivatePage> pages);

  std::vector<Planned> starts_;
  u32 most_areas_ = 0;
  u64 area_count_ = 0, start_page_count_ = 0;
  std::vector<std::shared_ptr<const memory::Image>> images_;
  std::map<const memory::Image*, u64> image_offsets_;
  std::unordered_multimap<u64, std::shared_ptr<const memory::Image>> own_images_;  // by hash: those made here
  u64 own_image_bytes_ = 0;
  u64 image_bytes_ = 0;
  std::vector<u8> page_bytes_;
  std::unordered_multimap<u64, u64> page_offsets_;  // by hash
  struct CommonArea {
    u64 offset;  // of its bytes, among the images or in page_bytes_
    std::shared_ptr<const memory::Image> image;
  };
  std::map<u64, CommonArea> common_areas_;  // by start
  std::string names_;
};

}  // namespace kvrm::device::cuda
