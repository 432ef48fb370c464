// The initial states of lanes, collected on the host before they are uploaded to a device.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/kernel/lane.h"
#include "memory/address_space.h"

namespace kvrm::backend::cuda {

class StartSet {
 public:
  using PrivatePage = memory::AddressSpace::PrivatePage;
  struct Contents {
    Cpu cpu{};
    bool is_process = false;
    std::vector<memory::AddressSpace::SourceArea> areas;
    std::vector<PrivatePage> pages;  // that differ from their area's source; copied
    linux_abi::LaneProcess process;
    std::array<std::optional<linux_abi::GuestStat>, 3> stats;
    std::string program;  // what /proc/self/exe names
    // All lanes of the set share their pages. Their areas are the same, `pages` has every page of them, and the first
    // lane's bytes are used.
    bool shares_memory = false;
  };

  // The number of the start. Images and equal pages are stored once.
  u32 add(const Contents& contents);
  u32 size() const { return static_cast<u32>(starts_.size()); }
  u32 most_areas() const { return most_areas_; }

  // The records of all starts, for the device addresses of image bytes, pages, areas, start pages and names.
  struct Bases {
    u64 images, pages, areas, start_pages, names;
  };
  struct Records {
    std::vector<kernel::Start> starts;
    std::vector<memory::Area> areas;
    std::vector<kernel::StartPage> pages;
  };
  Records relocate(const Bases& bases) const;
  // Gives storage for snapshots to the first kMostSnapshots starts that have several jobs.
  static constexpr u32 kMostSnapshots = 16;
  static void give_snapshots(std::vector<kernel::Start>& starts, std::span<const u32> jobs_of_start, u64 room);
  // How many of these jobs each start has.
  template <class Jobs>
  std::vector<u32> jobs_of_start(const Jobs& jobs) const {
    std::vector<u32> counts(size());
    for (const auto& job : jobs) ++counts[job.start];
    return counts;
  }

  // Code of the images that lanes cannot write, at the addresses where they map it.
  struct SharedCode {
    u64 start;
    u64 offset;  // in the bytes of all images
    std::span<const u32> words;
  };
  std::vector<SharedCode> shared_code() const;
  // The number of the word at pc among those of all images, if lanes with this start run it from an image.
  std::optional<u32> word_at(u32 start, u64 pc) const;

  const std::vector<std::shared_ptr<const memory::Image>>& images() const { return images_; }
  u64 image_bytes() const { return image_bytes_; }  // of all images, one after the other
  const std::vector<u8>& page_bytes() const { return page_bytes_; }
  const std::string& names() const { return names_; }
  u64 area_count() const { return area_count_; }
  u64 start_page_count() const { return start_page_count_; }

 private:
  struct PageSource {
    bool in_image;
    u64 offset;  // among the images, or in page_bytes_
  };
  struct Planned {
    Contents contents;  // without bytes
    std::vector<PageSource> pages;
    u64 name;  // in names_
  };
  u64 add_image(const std::shared_ptr<const memory::Image>& image);
  u64 add_page(const u8* bytes);
  std::shared_ptr<const memory::Image> image_of(const memory::AddressSpace::SourceArea& area,
                                                std::span<const PrivatePage> pages);
  // The part of an image that a planned area maps, if it is code that no lane can write.
  struct FixedCode {
    const memory::Image* image;
    u64 offset;  // in the image
  };
  std::optional<FixedCode> fixed_code(const Planned& planned, const memory::AddressSpace::SourceArea& area) const;
  void add_shared(const memory::AddressSpace::SourceArea& area, std::span<const PrivatePage> pages);

  std::vector<Planned> starts_;
  u32 most_areas_ = 0;
  u64 area_count_ = 0, start_page_count_ = 0;
  std::vector<std::shared_ptr<const memory::Image>> images_;
  std::map<const memory::Image*, u64> image_offsets_;
  std::unordered_multimap<u64, std::shared_ptr<const memory::Image>> own_images_;  // by hash: made of lanes' pages
  u64 own_image_bytes_ = 0;
  u64 image_bytes_ = 0;
  std::vector<u8> page_bytes_;
  std::unordered_multimap<u64, u64> page_offsets_;  // by hash
  struct SharedArea {
    u64 offset;  // of its bytes, among the images or in page_bytes_
    std::shared_ptr<const memory::Image> image;
  };
  std::map<u64, SharedArea> shared_areas_;  // by start
  std::string names_;
};

}  // namespace kvrm::backend::cuda
