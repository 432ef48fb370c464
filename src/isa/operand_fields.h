// What the generated operand structs need: a field's value as semantics want to see it.
#pragma once

#include "base/cpu.h"
#include "base/types.h"

namespace kvrm::isa {

template <unsigned kWidth>
constexpr i32 sign_extend_field(u32 raw) {
  return static_cast<i32>(raw << (32 - kWidth)) >> (32 - kWidth);
}

// Register 31 as the stack pointer. Elsewhere 31 is the zero register, which is slot 31 as it stands.
constexpr u32 stack_slot(u32 number) { return number == 31 ? kSpSlot : number; }

}  // namespace kvrm::isa
