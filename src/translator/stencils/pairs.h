// Pairs of words that have a stencil together: one that sets the flags and the conditional branch after it. The branch
// then compares the operands itself, instead of waiting for flags that the word before it has just stored.
#pragma once

#include "isa/decode.h"

namespace kvrm::translator::stencils {

struct PairOfRows {
  isa::Row first, second;
  // Of the first row's variants, those whose number has this rest by `modulus`.
  u32 modulus, rest;
};
inline constexpr u32 kShifts = 5, kUnshifted = 4;  // see the dimension `shift` of isa/specialize.inc
inline constexpr PairOfRows kPairs[] = {
    {isa::Row::SUBS_imm, isa::Row::B_cond, 1, 0},
    {isa::Row::SUBS_shift, isa::Row::B_cond, kShifts, kUnshifted},
    {isa::Row::ADDS_imm, isa::Row::B_cond, 1, 0},
    {isa::Row::ANDS_imm, isa::Row::B_cond, 1, 0},
    {isa::Row::ANDS_shift, isa::Row::B_cond, kShifts, kUnshifted},
};

}  // namespace kvrm::translator::stencils
