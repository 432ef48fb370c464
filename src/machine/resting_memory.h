// A GPU lane's memory between runs: every access is a short visit to the GPU. Inside a system-call hook the lane is
// waiting in the mailbox, and the access goes there.
#pragma once

#include "device/cuda/lane_set.h"
#include "memory/guest_memory.h"

namespace kvrm {

class RestingMemory final : public memory::GuestMemory {
 public:
  RestingMemory(device::cuda::LaneSet& set, u32 lane) : set_(set), lane_(lane) {}
  void set_now(memory::GuestMemory* now) { now_ = now; }

  bool read(u64 address, void* to, std::size_t size) const override {
    return visit(false, [&](auto& memory) { return memory.read(address, to, size); });
  }
  bool write(u64 address, const void* from, std::size_t size) override {
    return visit(false, [&](auto& memory) { return memory.write(address, from, size); });
  }
  std::size_t accessible(u64 address, std::size_t size, memory::Protection how) const override {
    return visit(std::size_t{0}, [&](auto& memory) { return memory.accessible(address, size, how); });
  }
  bool poke(u64 address, const void* from, std::size_t size) override {
    return visit(false, [&](auto& memory) { return memory.poke(address, from, size); });
  }
  bool peek(u64 address, void* to, std::size_t size) const override {
    return visit(false, [&](auto& memory) { return memory.peek(address, to, size); });
  }
  bool map(u64 address, u64 size, u32 protection) override {
    return visit(false, [&](auto& memory) { return memory.map(address, size, protection); });
  }
  bool map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) override {
    return visit(false, [&](auto& memory) { return memory.map_backed(address, size, protection, backing); });
  }
  bool map_image(u64, u64, u32, std::shared_ptr<const memory::Image>, u64) override { return false; }
  bool unmap(u64 address, u64 size) override {
    return visit(false, [&](auto& memory) { return memory.unmap(address, size); });
  }
  bool protect(u64 address, u64 size, u32 protection) override {
    return visit(false, [&](auto& memory) { return memory.protect(address, size, protection); });
  }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override {
    return visit(false, [&](auto& memory) { return memory.move(from, from_size, to, to_size); });
  }
  bool discard(u64 address, u64 size) override {
    return visit(false, [&](auto& memory) { return memory.discard(address, size); });
  }
  bool is_free(u64 address, u64 size) const override {
    return visit(false, [&](auto& memory) { return memory.is_free(address, size); });
  }
  bool is_mapped(u64 address, u64 size) const override {
    return visit(false, [&](auto& memory) { return memory.is_mapped(address, size); });
  }
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override {
    return visit(std::optional<u64>(), [&](auto& memory) { return memory.find_free(size, floor, limit); });
  }
  std::optional<Area> next_area(u64 address) const override {
    return visit(std::optional<Area>(), [&](auto& memory) { return memory.next_area(address); });
  }
  std::vector<Area> areas() const override {
    return visit(std::vector<Area>(), [&](auto& memory) { return memory.areas(); });
  }

 private:
  // A device that fails leaves the result as it was given: nothing worked.
  template <class T, class F>
  T visit(T result, F work) const {
    if (now_) return work(*now_);
    (void)!set_.with_memory(lane_, [&](memory::GuestMemory& memory) { result = work(memory); }).ok();
    return result;
  }

  device::cuda::LaneSet& set_;
  u32 lane_;
  memory::GuestMemory* now_ = nullptr;
};

}  // namespace kvrm
