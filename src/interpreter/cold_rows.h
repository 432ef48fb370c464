// Running the rows that the loop for very many lanes does not have inline. Freestanding.
#pragma once

#include "interpreter/word_entry.h"
#include "memory/lane_memory.h"

namespace kvrm::interpreter {

template <class Op>
inline constexpr bool kIsHot = false;
#define KVRM_IS_HOT(name) \
  template <>             \
  inline constexpr bool kIsHot<isa::name> = true;
KVRM_HOT_ROWS(KVRM_IS_HOT)
KVRM_HOT_SIZED_ROWS(KVRM_IS_HOT)
#undef KVRM_IS_HOT

template <class Op>
KVRM_COLD Trap run_cold_row(Cpu& cpu, memory::LaneMemory& memory, u32 word) {
  return semantics::Meaning<Op>::execute(cpu, memory, Op::decode(word));
}

KVRM_COLD inline Trap run_cold(Cpu& cpu, memory::LaneMemory& memory, isa::Row row, u32 word) {
  switch (row) {
#define KVRM_COLD_CASE(name)                                                             \
  case isa::Row::name:                                                                   \
    if constexpr (!kIsHot<isa::name>) return run_cold_row<isa::name>(cpu, memory, word); \
    break;
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_COLD_CASE)
#undef KVRM_COLD_CASE
    default: break;
  }
  return Trap::kUndefined;
}

}  // namespace kvrm::interpreter
