// What jobs of one program with the same arguments have in common: all they do before they first read their input. The
// first lane that comes so far leaves a copy of itself, and whoever takes a job later goes on from there. Freestanding.
#pragma once

#include "device/lanes/lane.h"
#include "linux/lane_calls.h"

namespace kvrm::device::lanes {

// A lane in the middle of the call that reads. The bytes of its pages lie behind it.
struct alignas(16) Beginning {
  enum State : u32 { kNone, kBeingMade, kReady, kTooLarge };
  static constexpr u32 kMostAreas = 64;
  static constexpr u32 kMostPages = 128;

  u32 state;
  Standing standing;
  memory::Area areas[kMostAreas];
  StartPage pages[kMostPages];
};

// What one of them takes, with the bytes.
inline constexpr u64 kBeginningBytes = sizeof(Beginning) + u64{Beginning::kMostPages} * memory::kPageSize;

// For a job with so much of a budget.
inline const Beginning* ready_beginning(const Start& start, u64 budget) {
  const Beginning* const beginning = start.beginning;
  if (!beginning || sync::load<sync::kAcquire, sync::kDevice>(&beginning->state) != Beginning::kReady) return nullptr;
  return beginning->standing.retired <= budget ? beginning : nullptr;
}

// Whether the lane, at a call, has come as far as any other would with another input, and nobody knows of it yet: it
// has not read, it has not written, and the host has not seen it.
inline bool is_at_common_place(const Lane& lane, const Cpu& cpu) {
  if (!lane.start->beginning || !linux_abi::reads_input(lane.process, cpu.x[8], cpu.x[0])) return false;
  return lane.host_calls == 0 && lane.output.end == 0 && lane.output.done == 0 && lane.process.input_position == 0 &&
         lane.process.deadline == kNoDeadline;
}

inline void leave_beginning(const Lane& lane, const Cpu& cpu, memory::LaneMemory& memory) {
  Beginning& beginning = *lane.start->beginning;
  if (sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&beginning.state, u32{Beginning::kNone},
                                                            u32{Beginning::kBeingMade}) != Beginning::kNone)
    return;
  Standing& standing = beginning.standing;
  standing.areas = beginning.areas;
  standing.pages = beginning.pages;
  standing.retired = lane.retired;
  standing.kernel_calls = lane.kernel_calls;
  standing.status = Status::kCall;
  standing.process = lane.process;
  copy_registers(cpu, standing.registers);
  bool fits = memory.area_count() <= Beginning::kMostAreas;
  standing.area_count = fits ? memory.area_count() : 0;
  for (u32 i = 0; i < standing.area_count; ++i) beginning.areas[i] = memory.area(i);
  standing.page_count = 0;
  memory.for_each_private([&](u64 address, u64 source, bool is_written) {
    fits = fits && standing.page_count < Beginning::kMostPages;
    if (!fits) return;
    if (is_written) {
      const u64 copy = reinterpret_cast<u64>(&beginning + 1) + u64{standing.page_count} * memory::kPageSize;
      memory::copy_page(source, copy, false);
      source = copy;
    }
    beginning.pages[standing.page_count++] = {address, source};
  });
  sync::store<sync::kRelease, sync::kDevice>(&beginning.state, u32{fits ? Beginning::kReady : Beginning::kTooLarge});
}

}  // namespace kvrm::device::lanes
