// A simulated lane's memory as the host's code sees memories.
#pragma once

#include "memory/guest_memory.h"
#include "memory/lane_memory_map.h"

namespace kvrm::device::test {

class LaneGuestMemory final : public memory::GuestMemory {
 public:
  explicit LaneGuestMemory(memory::LaneSpace& space) : lane_(&space, &pages_) {
    lane_.know_nothing(&far_, 1, 0, false);
  }
  LaneGuestMemory(const LaneGuestMemory&) = delete;
  LaneGuestMemory& operator=(const LaneGuestMemory&) = delete;

  bool read(u64 address, void* to, std::size_t size) const override { return lane_.read(address, to, size); }
  bool write(u64 address, const void* from, std::size_t size) override { return lane_.write(address, from, size); }
  std::size_t accessible(u64 address, std::size_t size, memory::Protection how) const override {
    return lane_.accessible(address, size, how);
  }
  bool poke(u64 address, const void* from, std::size_t size) override { return lane_.poke(address, from, size); }
  bool peek(u64 address, void* to, std::size_t size) const override { return lane_.peek(address, to, size); }
  bool map(u64 address, u64 size, u32 protection) override { return lane_.map(address, size, protection); }
  bool map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) override {
    return lane_.map_backed(address, size, protection, backing);
  }
  bool map_image(u64, u64, u32, std::shared_ptr<const memory::Image>, u64) override { return false; }
  bool unmap(u64 address, u64 size) override { return lane_.unmap(address, size); }
  bool protect(u64 address, u64 size, u32 protection) override { return lane_.protect(address, size, protection); }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override { return lane_.move(from, from_size, to, to_size); }
  bool discard(u64 address, u64 size) override { return lane_.discard(address, size); }
  bool is_free(u64 address, u64 size) const override { return lane_.is_free(address, size); }
  bool is_mapped(u64 address, u64 size) const override { return lane_.is_mapped(address, size); }
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override {
    const u64 found = lane_.find_free(size, floor, limit);
    return found == memory::kNoRoom ? std::nullopt : std::optional(found);
  }
  std::optional<Area> next_area(u64 address) const override {
    Area area;
    return lane_.next_area(address, area) ? std::optional(area) : std::nullopt;
  }
  std::vector<Area> areas() const override {
    std::vector<Area> result;
    for (u32 i = 0; i < lane_.area_count(); ++i) result.push_back(lane_.area(i));
    return result;
  }
  memory::LaneMemory& lane() { return lane_; }

 private:
  memory::KnownPages pages_{};
  memory::LaneTranslation far_{};
  mutable memory::LaneMemory lane_;
};

}  // namespace kvrm::device::test
