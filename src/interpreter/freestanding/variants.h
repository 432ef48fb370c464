// The handlers of a row on the CPU, or its stencils: one for each combination of the operand values that specialize.inc
// lists. A variant number is a mixed-radix number with one digit per dimension.
#pragma once

#include "isa/a64_variants.h"
#include "semantics/meaning.h"

namespace kvrm::interpreter {

#define KVRM_HAS(member) \
  requires(Op probe) { probe.member; }

template <class Op, bool kOfStencils = false>
struct Variants {
  // Whether a branch stays in its page depends on the pc too, so this digit, the most significant one, is not in the
  // table.
  static constexpr bool kIsBranch = isa::facts(Op::kRow).flow == isa::Flow::kDirect ||
                                    isa::facts(Op::kRow).flow == isa::Flow::kConditional || Op::kRow == isa::Row::BL;

  static constexpr auto dimensions() {
    if constexpr (kOfStencils) {
      return isa::kStencilDimensions<Op>;
    } else {
      return isa::kDimensions<Op>;
    }
  }

  template <class... By>
  static constexpr u32 combinations(isa::Dimensions<By...>) {
    return (1u * ... * By::kCount);
  }
  static constexpr u32 kCombinations = combinations(dimensions());
  static constexpr u32 kCount = kCombinations * (kIsBranch ? 2 : 1);

  // The variant that fits these operands at this index of a page.
  static constexpr u32 choose(const Op& op, u32 index_in_page) {
    u32 variant = 0;
    if constexpr (kIsBranch) variant = stays_in_page(op, index_in_page);
    return choose_values(op, variant, dimensions());
  }

  // Makes constants of what the variant promises.
  template <u32 kVariant>
  static KVRM_INLINE void fix(Op& op) {
    fix_values<kVariant>(op, dimensions());
  }

  template <u32 kVariant>
  static constexpr bool kStaysInPage = kIsBranch && kVariant / kCombinations == 1;

  // How many words a direct branch goes.
  static constexpr i32 branch_words(const Op& op) {
    i32 words = 0;
    if constexpr (KVRM_HAS(simm26)) words = op.simm26;
    if constexpr (KVRM_HAS(simm19)) words = op.simm19;
    if constexpr (KVRM_HAS(simm14)) words = op.simm14;
    return words;
  }

 private:
  template <class... By>
  static constexpr u32 choose_values(const Op& op, u32 variant, isa::Dimensions<By...>) {
    ((variant = variant * By::kCount + By::choose(op)), ...);
    return variant;
  }

  template <u32>
  static KVRM_INLINE void fix_values(Op&, isa::Dimensions<>) {}
  template <u32 kVariant, class First, class... Rest>
  static KVRM_INLINE void fix_values(Op& op, isa::Dimensions<First, Rest...>) {
    First::template promise<kVariant / combinations(isa::Dimensions<Rest...>{}) % First::kCount>(op);
    fix_values<kVariant>(op, isa::Dimensions<Rest...>{});
  }

  static constexpr u32 stays_in_page(const Op& op, u32 index) {
    const i64 target = i64{index} + branch_words(op);
    return target >= 0 && target < 1024;
  }
};

#undef KVRM_HAS

}  // namespace kvrm::interpreter
