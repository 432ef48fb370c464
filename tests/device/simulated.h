// Stand-ins for what only a GPU has: pinned and device memory in vectors, and a lane's memory as lanes see it.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "device/lanes/mailbox.h"
#include "device/lanes/output_ring.h"
#include "memory/address_space.h"

namespace kvrm::device::test {

using Random = std::mt19937_64;
inline u64 below(Random& random, u64 limit) { return random() % limit; }

class SimulatedRing {
 public:
  SimulatedRing(u64 capacity, u64 most) : words_(capacity / sizeof(u64)), capacity_(capacity), most_(most) {}
  lanes::OutputRing view() { return {words_.data(), capacity_, most_, &tail_, &head_, &known_tail_}; }
  u64 head() const { return head_; }

 private:
  std::vector<u64> words_;
  u64 capacity_, most_;
  alignas(64) u64 tail_ = 0;
  alignas(64) u64 head_ = 0;
  u64 known_tail_ = 0;
};

class SimulatedMailbox {
 public:
  explicit SimulatedMailbox(u32 count) : flags_(count), slots_(count), free_((count + 31) / 32) {
    for (u32 i = 0; i < count; ++i) free_[i / 32] |= u32{1} << (i % 32);
  }
  lanes::Mailbox view() { return {flags_.data(), slots_.data(), free_.data(), u32(flags_.size())}; }
  u32 free_slots() const {
    u32 count = 0;
    for (const u32 word : free_) count += u32(__builtin_popcount(word));
    return count;
  }

 private:
  std::vector<u32> flags_;
  std::vector<lanes::Slot> slots_;
  std::vector<u32> free_;
};

// The interface lanes' code asks of a memory, over the host's address space.
class LaneMemory {
 public:
  explicit LaneMemory(memory::AddressSpace& space) : space_(space) {}
  using Area = memory::GuestMemory::Area;

  bool read(u64 address, void* to, u64 size) { return space_.read(address, to, size); }
  bool write(u64 address, const void* from, u64 size) { return space_.write(address, from, size); }
  bool peek(u64 address, void* to, u64 size) { return space_.peek(address, to, size); }
  bool poke(u64 address, const void* from, u64 size) { return space_.poke(address, from, size); }
  u64 accessible(u64 address, u64 size, u32 protection) {
    return space_.accessible(address, size, memory::Protection(protection));
  }
  bool map(u64 address, u64 size, u32 protection) { return space_.map(address, size, protection); }
  void unmap(u64 address, u64 size) { space_.unmap(address, size); }
  bool protect(u64 address, u64 size, u32 protection) { return space_.protect(address, size, protection); }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) { return space_.move(from, from_size, to, to_size); }
  bool discard(u64 address, u64 size) { return space_.discard(address, size); }
  bool is_free(u64 address, u64 size) { return space_.is_free(address, size); }
  bool is_mapped(u64 address, u64 size) { return space_.is_mapped(address, size); }
  u64 find_free(u64 size, u64 floor, u64 limit) {
    return space_.find_free(size, floor, limit).value_or(lanes::kNoRoom);
  }
  u32 area_count() { return u32(space_.areas().size()); }
  Area area(u32 index) { return space_.areas()[index]; }

 private:
  memory::AddressSpace& space_;
};

inline void fill_randomly(Random& random, void* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) static_cast<u8*>(to)[i] = u8(random());
}

inline bool same_bytes(const Cpu& a, const Cpu& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace kvrm::device::test
