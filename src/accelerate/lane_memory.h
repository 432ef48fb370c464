// The memory of a lane on the host, as bulk steps see it: pages in the lane's TLB.
#pragma once

#include "memory/mmu.h"

namespace kvrm::accelerate {

class LaneMemory {
 public:
  explicit LaneMemory(memory::Mmu& mmu) : mmu_(mmu), tlb_(mmu.tlb()) {}

  u8* readable(u64 address) const {
    const memory::TlbEntry& entry = tlb_.at(address);
    return entry.read_tag == (address & memory::kPageMask) ? memory::host_bytes(entry, address) : nullptr;
  }
  u8* writable(u64 address) const {
    const memory::TlbEntry& entry = tlb_.at(address);
    return entry.write_tag == (address & memory::kPageMask) ? memory::host_bytes(entry, address) : nullptr;
  }

  // As the access would; what holds code is left to the access itself.
  bool prepare(u64 address, bool is_store) {
    u8 byte = 0;
    if (mmu_.read_slow(tlb_, address, &byte, 1).trap != Trap::kNone) return false;
    if (!is_store) return readable(address) != nullptr;
    if (mmu_.holds_code(address, 1)) return false;
    return mmu_.write_slow(tlb_, address, &byte, 1).trap == Trap::kNone && writable(address) != nullptr;
  }

 private:
  memory::Mmu& mmu_;
  memory::Tlb& tlb_;
};

}  // namespace kvrm::accelerate
