// Specialisation: which operands a handler may take as constants. The meaning stays the row's one function; a handler
// only promises what some operands are, and the compiler folds them. A variant number is a mixed-radix number with one
// digit per dimension that the row's operands have.
#pragma once

#include "semantics/meaning.h"

namespace kvrm::interpreter {

#define KVRM_HAS(member) \
  requires(Op probe) { probe.member; }

// Tells the compiler that something holds.
#define KVRM_PROMISE(condition)                \
  do {                                         \
    if (!(condition)) __builtin_unreachable(); \
  } while (false)

template <class Op>
struct Variants {
  static constexpr bool kHasSf = KVRM_HAS(sf);
  static constexpr bool kHasW = KVRM_HAS(w);
  static constexpr bool kHasCond = KVRM_HAS(cond);
  static constexpr bool kHasShift = KVRM_HAS(shift);
  static constexpr bool kHasMask = isa::facts(Op::kRow).group == isa::Group::kLogicalImmediate;
  static constexpr bool kHasField = isa::facts(Op::kRow).group == isa::Group::kBitfield;
  static constexpr bool kHasIndex = KVRM_HAS(option);
  static constexpr bool kHasFloatType = KVRM_HAS(ftype);
  static constexpr bool kHasScale = (KVRM_HAS(scale)) && !(KVRM_HAS(size)) && !kHasFloatType;
  static constexpr bool kIsBranch = isa::facts(Op::kRow).flow == isa::Flow::kDirect ||
                                    isa::facts(Op::kRow).flow == isa::Flow::kConditional || Op::kRow == isa::Row::BL;

  static constexpr u32 kWidths = kHasSf ? 2 : 1;
  static constexpr u32 kDestinations = kHasW ? 2 : 1;
  static constexpr u32 kConds = kHasCond ? 16 : 1;
  static constexpr u32 kShifts = kHasShift ? 5 : 1;   // four kinds, and no shift at all
  static constexpr u32 kMasks = kHasMask ? 3 : 1;     // 64-bit element, 32-bit element, smaller
  static constexpr u32 kFields = kHasField ? 2 : 1;   // moves down, moves up
  static constexpr u32 kIndexes = kHasIndex ? 8 : 1;  // the extension
  static constexpr u32 kScales = kHasScale ? 5 : 1;
  static constexpr u32 kFloatTypes = kHasFloatType ? 3 : 1;  // single, double, half
  static constexpr u32 kReaches = kIsBranch ? 2 : 1;  // target in another page, in this page
  static constexpr u32 kCount =
      kWidths * kDestinations * kConds * kShifts * kMasks * kFields * kIndexes * kScales * kFloatTypes * kReaches;

  // The variant that fits these operands at this place of a page.
  static constexpr u32 choose(const Op& op, u32 index_in_page) {
    u32 variant = 0;
    if constexpr (kIsBranch) variant = variant * kReaches + stays_in_page(op, index_in_page);
    if constexpr (kHasSf) variant = variant * kWidths + op.sf;
    if constexpr (kHasW) variant = variant * kDestinations + op.w;
    if constexpr (kHasCond) variant = variant * kConds + op.cond;
    if constexpr (kHasShift) variant = variant * kShifts + (op.imm6 == 0 ? 4 : op.shift);
    if constexpr (kHasMask) variant = variant * kMasks + (op.N ? 0 : op.imms < 32 ? 1 : 2);
    if constexpr (kHasField) variant = variant * kFields + (op.imms < op.immr);
    if constexpr (kHasIndex) variant = variant * kIndexes + op.option;
    if constexpr (kHasScale) variant = variant * kScales + op.scale;
    if constexpr (kHasFloatType) variant = variant * kFloatTypes + (op.ftype == 3 ? 2 : op.ftype);
    return variant;
  }

  // Makes constants of what the variant promises; dimensions in the reverse order of choose().
  template <u32 kVariant>
  static KVRM_INLINE void fix(Op& op) {
    constexpr u32 kFloatRest = kVariant / kFloatTypes;
    constexpr u32 kScaleRest = kFloatRest / kScales;
    constexpr u32 kIndexRest = kScaleRest / kIndexes;
    constexpr u32 kFieldRest = kIndexRest / kFields;
    constexpr u32 kMaskRest = kFieldRest / kMasks;
    constexpr u32 kShiftRest = kMaskRest / kShifts;
    constexpr u32 kCondRest = kShiftRest / kConds;
    constexpr u32 kDestinationRest = kCondRest / kDestinations;
    if constexpr (kHasFloatType) op.ftype = kVariant % kFloatTypes == 2 ? 3 : kVariant % kFloatTypes;
    if constexpr (kHasScale) op.scale = kFloatRest % kScales;
    if constexpr (kHasIndex) op.option = kScaleRest % kIndexes;
    if constexpr (kHasField) KVRM_PROMISE((op.imms < op.immr) == (kIndexRest % kFields == 1));
    if constexpr (kHasMask) {
      constexpr u32 kMask = kFieldRest % kMasks;
      op.N = kMask == 0;
      if (kMask == 1) KVRM_PROMISE(op.imms < 32);
    }
    if constexpr (kHasShift) {
      constexpr u32 kShift = kMaskRest % kShifts;
      op.shift = kShift % 4;
      if (kShift == 4) op.imm6 = 0;
    }
    if constexpr (kHasCond) op.cond = kShiftRest % kConds;
    if constexpr (kHasW) op.w = kCondRest % kDestinations;
    if constexpr (kHasSf) op.sf = kDestinationRest % kWidths;
    if constexpr (kHasSf && KVRM_HAS(N) && (kHasField || Op::kRow == isa::Row::EXTR)) op.N = op.sf;
  }

  template <u32 kVariant>
  static constexpr bool kStaysInPage = kIsBranch && kVariant / (kCount / kReaches) == 1;

 private:
  static constexpr u32 stays_in_page(const Op& op, u32 index) {
    i32 words = 0;
    if constexpr (KVRM_HAS(simm26)) words = op.simm26;
    if constexpr (KVRM_HAS(simm19)) words = op.simm19;
    if constexpr (KVRM_HAS(simm14)) words = op.simm14;
    const i64 target = i64{index} + words;
    return target >= 0 && target < 1024;
  }
};

}  // namespace kvrm::interpreter
