// Jobs of one program with the same arguments do the same until they first read their input. The first lane that gets
// there takes a snapshot of itself, and lanes that take such a job later resume from it. Freestanding.
#pragma once

#include "backend/kernel/lane.h"
#include "linux/freestanding/lane_calls.h"

namespace kvrm::backend::kernel {

// A lane in the middle of the call that reads. The bytes of its pages follow it.
struct alignas(16) Snapshot {
  enum State : u32 { kNone, kBeingMade, kReady, kTooLarge };
  static constexpr u32 kMostAreas = 64;
  static constexpr u32 kMostPages = 128;

  u32 state;
  ResumeState resume_state;
  memory::Area areas[kMostAreas];
  StartPage pages[kMostPages];
};

// The size of a snapshot with the bytes of its pages.
inline constexpr u64 kSnapshotBytes = sizeof(Snapshot) + u64{Snapshot::kMostPages} * memory::kPageSize;

// The snapshot of a start, if there is one that a job with this budget reaches.
inline const Snapshot* ready_snapshot(const Start& start, u64 budget) {
  const Snapshot* const snapshot = start.snapshot;
  if (!snapshot || sync::load<sync::kAcquire, sync::kDevice>(&snapshot->state) != Snapshot::kReady) return nullptr;
  return snapshot->resume_state.retired <= budget ? snapshot : nullptr;
}

// Whether the lane, at a call, is where any other would be with another input: it is about to read its input for the
// first time, it has written nothing, and the host has served it nothing.
inline bool is_at_snapshot_point(const Lane& lane, const Cpu& cpu) {
  if (!lane.start->snapshot || !linux_abi::reads_input(lane.process, cpu.x[8], cpu.x[0])) return false;
  return lane.host_calls == 0 && lane.output.end == 0 && lane.output.done == 0 && lane.process.input_position == 0 &&
         lane.process.deadline == kNoDeadline;
}

inline void take_snapshot(const Lane& lane, const Cpu& cpu, memory::LaneMemory& memory) {
  Snapshot& snapshot = *lane.start->snapshot;
  if (sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&snapshot.state, u32{Snapshot::kNone},
                                                            u32{Snapshot::kBeingMade}) != Snapshot::kNone)
    return;
  ResumeState& resume_state = snapshot.resume_state;
  resume_state.areas = snapshot.areas;
  resume_state.pages = snapshot.pages;
  resume_state.retired = lane.retired;
  resume_state.kernel_calls = lane.kernel_calls;
  resume_state.status = Status::kCall;
  resume_state.process = lane.process;
  copy_registers(cpu, resume_state.registers);
  bool fits = memory.area_count() <= Snapshot::kMostAreas;
  resume_state.area_count = fits ? memory.area_count() : 0;
  for (u32 i = 0; i < resume_state.area_count; ++i) snapshot.areas[i] = memory.area(i);
  resume_state.page_count = 0;
  memory.for_each_private([&](u64 address, u64 source, bool is_written) {
    fits = fits && resume_state.page_count < Snapshot::kMostPages;
    if (!fits) return;
    if (is_written) {
      const u64 copy = reinterpret_cast<u64>(&snapshot + 1) + u64{resume_state.page_count} * memory::kPageSize;
      memory::copy_page(source, copy, false);
      source = copy;
    }
    snapshot.pages[resume_state.page_count++] = {address, source};
  });
  sync::store<sync::kRelease, sync::kDevice>(&snapshot.state, u32{fits ? Snapshot::kReady : Snapshot::kTooLarge});
}

}  // namespace kvrm::backend::kernel
