// A translation of the tests' own: pages anywhere in 64 bits, and any number of addresses for one frame.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "memory/translation.h"

namespace kvrm::memory::test {

class PageTable final : public Translation {
 public:
  explicit PageTable(std::shared_ptr<PhysicalMemory> physical =
                         std::make_shared<PhysicalMemory>(std::make_shared<Account>(u64{1} << 24)))
      : Translation(std::move(physical)) {}

  // A frame of zeros.
  u8* frame() {
    u8* const bytes = physical().frames().allocate(next_frame_++ * kPageSize, false);
    std::memset(bytes, 0, kPageSize);
    return bytes;
  }
  void map(u64 address, u8* frame, u32 protection) {
    pages_[address] = {frame, protection};
    lanes().each([](Listener& lane) { lane.map_changed(); });
  }

  Frame translate(u64 address, Access access) override {
    const auto found = pages_.find(address & ~(kPageSize - 1));
    if (found == pages_.end()) return {Trap::kUnmapped, nullptr, 0, false};
    const auto [bytes, protection] = found->second;
    if (!(protection & static_cast<u32>(access))) return {Trap::kPermission, nullptr, 0, false};
    u32 addresses = 0;
    for (const auto& [page, other] : pages_) addresses += other.first == bytes;
    return {Trap::kNone, bytes, protection, addresses > 1};
  }
  const u8* find(u64 address) const override {
    const auto found = pages_.find(address & ~(kPageSize - 1));
    return found == pages_.end() ? nullptr : found->second.first;
  }

 private:
  std::map<u64, std::pair<u8*, u32>> pages_;
  u64 next_frame_ = 1;
};

}  // namespace kvrm::memory::test
