// The table of stencils as the build writes it and the program reads it: plain data, in place.
//
// A stencil is the machine code of one row and variant with holes. What goes into a hole is an expression over the
// operands of the word and its address: all that a compiler could fold if it knew the word.
#pragma once

#include "base/types.h"

namespace kvrm::translator::stencils {

// What an expression computes, on integers of `bits` bits.
enum class Operation : u8 {
  kOperands,  // the row's operand struct
  kPc,        // the address of the word
  kNextOperands,  // of the second word of a pair
  kNextPc,
  kConstant,
  kAdd,
  kSubtract,
  kMultiply,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kZeroExtend,
  kSignExtend,  // of `a`, whose width is the constant
  kTruncate,
  kEqual,
  kLess,
  kLessSigned,
  kSelect,
  kFunnelLeft,
  kFunnelRight,
  kCountOnes,
  kCountLeadingZeros,
  kCountTrailingZeros,
};

// Operands are steps before this one.
struct Step {
  Operation operation;
  u8 bits;
  u16 a, b, c;
  u64 constant;
};
// What most expressions are: ((operands >> shift) + added & mask) * factor + constant.
struct Field {
  u64 shift, added, mask, factor, constant;
};
struct Expression {
  u32 first_step, steps;
  u64 is_field;
  Field field;
};
inline constexpr u32 kMostSteps = 64;

enum class RelocationKind : u8 { kAbsolute8, kAbsolute16, kAbsolute32, kAbsolute64, kRelative32 };
enum class TargetKind : u8 {
  kHole,     // the value of an expression
  kNext,     // the stencil of the next word
  kWord,     // the stencil of the word whose address is the value of an expression, in the same page
  kBail,     // the stub that lets the interpreter run this word
  kData,     // the stencil's own constants, at the index
  kSymbol,   // a function of the program
  kHot,      // the stencil itself, at the index
  kCold,
};
// How a hole becomes smaller where its value fits: the byte that is `back` before it in the stencil changes. A
// displacement or an immediate of four bytes becomes one of a signed byte, an immediate of eight bytes one of four
// unsigned ones.
enum class Shortening : u8 { kNone, kDisplacement, kImmediate, kWide };
struct Relocation {
  u32 offset;
  RelocationKind kind;
  TargetKind target;
  u16 in_cold;  // the offset is one in the cold code
  u32 index;  // of the expression or the symbol, or an offset
  Shortening shortening;
  u8 back;
  u16 unused;
  i64 addend;
};

// An access to the lane's window: where it continues if it faults, as a relocation's target.
struct Access {
  u32 offset;
  u16 in_cold;
  TargetKind target;  // kBail, kHot or kCold
  u8 unused;
  u32 index;
};

// Code keeps one general register in a host register besides its slot: the *cached* one, mostly the result of the last
// word. What a stencil does with it: it stays, or nothing is cached afterwards, or the register whose slot has the
// offset of an expression.
inline constexpr u32 kCacheStays = ~0u, kNothingCached = ~1u;
// A stencil that takes the register with the slot of an expression from the cache.
struct Alternative {
  u32 slot, stencil;
};

// A general register that a stencil writes: its slot, and where its value comes from if that is known: the register of
// another slot as it was before, plus the value of an expression (kNone: 0). `slot` kNone: some register.
inline constexpr u32 kNone = ~0u;
struct Written {
  u32 slot, source, distance;
};

// The code of consecutive words is one hot part after another; what is rarely reached is elsewhere. Relocations of the
// hot part come first, each part's by offset.
struct Stencil {
  u32 hot, hot_size;
  u32 cold, cold_size;
  u32 data, data_size;  // constants, aligned to 32 bytes
  u32 first_relocation, relocations;
  u32 first_access, accesses;
  u32 cached_after;
  u32 first_alternative, alternatives;
  u32 first_written, written;
  // The slot of the register that it asks whether that is an address in the window, kNone: no one; and the stencil that
  // does not ask.
  u32 checked, unchecked;
  u32 goes_on;  // whether it leads to the next word by itself
};
inline constexpr u32 kNoStencil = ~0u;
inline constexpr u32 kDataAlignment = 32;

// The stencils of one row and variant. A stencil of the kind `other` writes no general register, as the zero register
// is none: it is for words whose only destination is that. It may be general instead, and right for every word.
struct Choice {
  u32 stencil;  // for words that do not write the zero register
  u32 other;  // for those that do
  u32 first_slot, slots;  // expressions: where in the state the row writes general registers, in bytes
};

// A row has variants * kForms choices from `first_choice` on. A branch to another page is far. Forward in its page it
// goes straight to the code of its target: no loop has only such branches, so none of them asks for the budget, and no
// region begins at most of their targets. All other rows are near.
enum Form : u32 { kNear, kFar, kForward, kForms };
struct RowStencils {
  u32 first_choice, variants;
};

// Two words in one stencil. `choices` has one for each variant of the first row, then of the second, then form; the
// second word writes no general register.
struct Pair {
  u32 first_row, second_row, first_choice;
};

struct Header {
  u64 magic;
  u32 rows, choices, slots, stencils, relocations, expressions, steps, symbols;
  // Stencils: the plain handler runs the word at pc; the entry after the word at pc runs; the register whose slot has
  // the offset `operands` is cached; the next word follows if the register of that slot is an address in the window.
  u32 plain, go_on, load_cached, check;
  u32 code_bytes, data_bytes, symbol_bytes, accesses, pairs, alternatives, written, unused;
  // Then the arrays in this order: Step, Relocation, Expression, Stencil, Choice, RowStencils, Pair, Access,
  // Alternative, Written, slots (u32), symbols (u32, offsets of names), names, code, data.
};
inline constexpr u64 kMagic = 0x6c69636e657473;  // "stencil"

}  // namespace kvrm::translator::stencils
