// Stride: for each load the difference between its last two addresses, once it has been the same twice. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

template <u32 kBits>
class Stride {
 public:
  // Once for each occurrence of the load, before predict().
  KVRM_INLINE void observe(const Load& load) {
    Entry& entry = entries_[slot_of(load.pc, kBits)];
    if (entry.pc != load.pc) {
      entry = {load.pc, load.address, 0, 0};
      return;
    }
    const i64 stride = static_cast<i64>(load.address - entry.address);
    entry.address = load.address;
    if (stride == entry.stride) {
      entry.confidence = entry.confidence < kMost ? entry.confidence + 1 : kMost;
    } else if (entry.confidence > 0) {
      --entry.confidence;
    } else {
      entry.stride = stride;
    }
  }

  // The stride of a load, or 0 if it has none.
  KVRM_INLINE i64 stride_of(u64 pc) const {
    const Entry& entry = entries_[slot_of(pc, kBits)];
    return entry.pc == pc && entry.confidence >= kEnough ? entry.stride : 0;
  }

  // 0: it does not know.
  KVRM_INLINE u64 predict(const Load& load, u32 level) const {
    const u64 stride = static_cast<u64>(stride_of(load.pc));
    return stride == 0 ? 0 : load.address + stride * distance_of(level);
  }

 private:
  static constexpr u32 kMost = 3, kEnough = 2;
  struct Entry {
    u64 pc, address;
    i64 stride;
    u64 confidence;
  };
  Entry entries_[1u << kBits] = {};
};

}  // namespace kvrm::prefetch
