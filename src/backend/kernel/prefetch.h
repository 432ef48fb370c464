// Prefetching for a lane that is alone in its warp. Freestanding.
#pragma once

#include "backend/kernel/lane.h"
#include "base/prefetch.h"

namespace kvrm::backend::kernel {

// After a miss of the TLB that has been served. The lane's state and the guest's memory stay as they are: the TLBs may
// get a page more, and the device's cache a line.
KVRM_COLD inline void prefetch_after_miss(const Launch& launch, const Lane& lane, const Cpu& cpu,
                                          memory::LaneMemory& memory) {
  const u64 missed = cpu.fault_address;
  const u64 expected =
      launch.prefetchers[lane.number].missed(cpu.pc, missed, static_cast<u32>(cpu.clock_ns), launch.prefetch_choices);
  if (expected == 0) return;
  if (const u8* const at = memory.warm(expected, missed)) prefetch_memory(at);
}

}  // namespace kvrm::backend::kernel
