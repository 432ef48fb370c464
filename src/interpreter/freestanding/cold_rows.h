// Runs any row with all of a lane's memory: the fallback of the loop for many lanes. Freestanding.
#pragma once

#include "interpreter/freestanding/word_entry.h"
#include "memory/freestanding/lane_memory_map.h"

namespace kvrm::interpreter {

// Rows of one function. With a function for each row, the driver takes four times as long to load a kernel that regions
// are linked to: its time depends on the number of functions, not on bytes (docs/internals/experiments.md).
inline constexpr u32 kRowsTogether = 32;

template <u32 kGroup>
KVRM_COLD Trap run_cold_rows(Cpu& cpu, memory::LaneMemory& memory, isa::Row row, u32 word) {
  switch (row) {
#define KVRM_COLD_CASE(name)                                                               \
  case isa::Row::name:                                                                     \
    if constexpr (static_cast<u32>(isa::Row::name) / kRowsTogether == kGroup)              \
      return semantics::Meaning<isa::name>::execute(cpu, memory, isa::name::decode(word)); \
    break;
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_COLD_CASE)
#undef KVRM_COLD_CASE
    default: break;
  }
  return Trap::kUndefined;
}

template <u32 kGroup = 0>
KVRM_INLINE Trap run_cold_from(Cpu& cpu, memory::LaneMemory& memory, isa::Row row, u32 word) {
  if constexpr (kGroup * kRowsTogether < isa::kRowCount) {
    if (static_cast<u32>(row) / kRowsTogether == kGroup) return run_cold_rows<kGroup>(cpu, memory, row, word);
    return run_cold_from<kGroup + 1>(cpu, memory, row, word);
  } else {
    return Trap::kUndefined;
  }
}

KVRM_COLD inline Trap run_cold(Cpu& cpu, memory::LaneMemory& memory, isa::Row row, u32 word) {
  return run_cold_from(cpu, memory, row, word);
}

}  // namespace kvrm::interpreter
