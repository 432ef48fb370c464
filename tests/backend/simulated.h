// Stand-ins for what only a GPU has: pinned and device memory in vectors.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "backend/kernel/mailbox.h"
#include "backend/kernel/output_ring.h"
#include "linux/lane_host.h"
#include "memory/address_space.h"

namespace kvrm::backend::test {

using Random = std::mt19937_64;
inline u64 below(Random& random, u64 limit) { return random() % limit; }

class SimulatedRing {
 public:
  SimulatedRing(u64 capacity, u64 most) : words_(capacity / sizeof(u64)), capacity_(capacity), most_(most) {}
  kernel::OutputRing view() { return {words_.data(), capacity_, most_, &tail_, &head_, &known_tail_}; }
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
  kernel::Mailbox view() { return {flags_.data(), slots_.data(), free_.data(), u32(flags_.size())}; }
  u32 free_slots() const {
    u32 count = 0;
    for (const u32 word : free_) count += u32(__builtin_popcount(word));
    return count;
  }

 private:
  std::vector<u32> flags_;
  std::vector<kernel::Slot> slots_;
  std::vector<u32> free_;
};

inline void fill_randomly(Random& random, void* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) static_cast<u8*>(to)[i] = u8(random());
}

inline bool same_bytes(const Cpu& a, const Cpu& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace kvrm::backend::test
