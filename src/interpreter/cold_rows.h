// Running any row with all of a lane's memory: what the loop for very many lanes does not do itself. Freestanding.
#pragma once

#include "interpreter/word_entry.h"
#include "memory/lane_memory_map.h"

namespace kvrm::interpreter {

template <class Op>
KVRM_COLD Trap run_cold_row(Cpu& cpu, memory::LaneMemory& memory, u32 word) {
  return semantics::Meaning<Op>::execute(cpu, memory, Op::decode(word));
}

KVRM_COLD inline Trap run_cold(Cpu& cpu, memory::LaneMemory& memory, isa::Row row, u32 word) {
  switch (row) {
#define KVRM_COLD_CASE(name) \
  case isa::Row::name: return run_cold_row<isa::name>(cpu, memory, word);
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_COLD_CASE)
#undef KVRM_COLD_CASE
    default: break;
  }
  return Trap::kUndefined;
}

}  // namespace kvrm::interpreter
