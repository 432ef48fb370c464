// The memory of a simulated lane, with the interface of the host's memories.
#pragma once

#include "memory/freestanding/lane_memory_map.h"
#include "memory/guest_memory.h"

namespace kvrm::backend::test {

class LaneGuestMemory final : public memory::ForwardingMemory<LaneGuestMemory> {
 public:
  explicit LaneGuestMemory(memory::LaneSpace& space) : lane_(&space, &pages_) { lane_.reset_tlb(&far_, 1, 0, false); }
  LaneGuestMemory(const LaneGuestMemory&) = delete;
  LaneGuestMemory& operator=(const LaneGuestMemory&) = delete;

  memory::LaneMemory& lane() { return lane_; }

  template <class T, class F>
  T visit(T, F work) const {
    return work(lane_);
  }

 private:
  // Freestanding code has no std::optional and no std::vector.
  struct HostedLane : memory::LaneMemory {
    using LaneMemory::LaneMemory;
    std::optional<u64> find_free(u64 size, u64 floor, u64 limit) {
      const u64 found = LaneMemory::find_free(size, floor, limit);
      return found == memory::kNoRoom ? std::nullopt : std::optional(found);
    }
    std::optional<Area> next_area(u64 address) {
      Area area;
      return LaneMemory::next_area(address, area) ? std::optional(area) : std::nullopt;
    }
    std::vector<Area> areas() {
      std::vector<Area> result;
      for (u32 i = 0; i < area_count(); ++i) result.push_back(area(i));
      return result;
    }
  };

  memory::LaneTlb pages_{};
  memory::LaneTlbEntry far_{};
  mutable HostedLane lane_;
};

}  // namespace kvrm::backend::test
