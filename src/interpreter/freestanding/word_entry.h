// A decoded word as the loop for many lanes runs it. Freestanding.
#pragma once

#include "isa/a64_hot_rows.h"
#include "isa/decode.h"
#include "semantics/meaning.h"

namespace kvrm::interpreter {

// How a word is run: inline by one of the hot handlers, or by calling its row. Those that may end a basic block come
// first.
enum HotHandler : u8 {
  kHandleUndecoded,
  kHandleCold,
  kHandleUndefined,
  kHandleRegion,  // the entry of a translated region (lane_region.h)
#define KVRM_HOT_HANDLER(row, shape, promise) kHandle_##row##shape,
  KVRM_HOT_BRANCHES(KVRM_HOT_HANDLER) kFirstSequentialHandler,
  kBeforeSequentialHandlers = kFirstSequentialHandler - 1,
  KVRM_HOT_OTHERS(KVRM_HOT_HANDLER)
#undef KVRM_HOT_HANDLER
};

// The same for the loop of one lane (lone_loop.h), which runs more rows inline, with fewer handlers each.
enum LoneHandler : u8 {
  kLoneUndecoded,
  kLoneCold,
  kLoneUndefined,
  kLoneRegion,
#define KVRM_LONE_HANDLER(row, shape, promise) kLone_##row##shape,
  KVRM_LONE_BRANCHES(KVRM_LONE_HANDLER) kFirstSequentialLone,
  kBeforeSequentialLone = kFirstSequentialLone - 1,
  KVRM_LONE_OTHERS(KVRM_LONE_HANDLER)
#undef KVRM_LONE_HANDLER
};

struct alignas(16) WordEntry {
  u32 word;
  u8 handler;  // a HotHandler
  u8 lone;     // a LoneHandler
  // Words from this one to the end of its basic block, both included; kMaxBlockLength: at least as many.
  u16 block_length;
  u64 operands;  // of hot and warm rows: the operand struct; of regions: the number; of others: the row
};
static_assert(sizeof(WordEntry) == 16);
inline constexpr u16 kMaxBlockLength = 4095;

template <class Op>
KVRM_INLINE u64 pack_operands(const Op& op) {
  u64 bits = 0;
  static_assert(sizeof(Op) <= sizeof(bits));
  __builtin_memcpy(&bits, &op, sizeof(Op));
  return bits;
}
template <class Op>
KVRM_INLINE Op unpack_operands(u64 bits) {
  Op op;
  __builtin_memcpy(&op, &bits, sizeof(Op));
  return op;
}

// Not inlined: several loops use it, and rarely.
KVRM_COLD inline WordEntry make_word_entry(u32 word, isa::Row row) {
  WordEntry entry{word, kHandleCold, kLoneCold, kMaxBlockLength, static_cast<u64>(row)};
  switch (row) {
#define KVRM_ENTRY_CASE(row, first, choice)                           \
  case isa::Row::row: {                                               \
    const auto op = isa::row::decode(word);                           \
    entry.handler = static_cast<u8>(kHandle_##row##first + (choice)); \
    entry.operands = pack_operands(op);                               \
    break;                                                            \
  }
#define KVRM_WARM_CASE(row)                                 \
  case isa::Row::row:                                       \
    entry.lone = kLone_##row;                               \
    entry.operands = pack_operands(isa::row::decode(word)); \
    break;
    KVRM_HOT_ROWS(KVRM_ENTRY_CASE)
    KVRM_WARM_ROWS(KVRM_WARM_CASE)
#undef KVRM_ENTRY_CASE
#undef KVRM_WARM_CASE
    case isa::Row::kNone:
      entry.handler = kHandleUndefined;
      entry.lone = kLoneUndefined;
      break;
    default: break;
  }
  switch (row) {
#define KVRM_LONE_CASE(row, first, choice)                       \
  case isa::Row::row: {                                          \
    [[maybe_unused]] const auto op = isa::row::decode(word);     \
    entry.lone = static_cast<u8>(kLone_##row##first + (choice)); \
    break;                                                       \
  }
    KVRM_LONE_HOT_ROWS(KVRM_LONE_CASE)
#undef KVRM_LONE_CASE
    default: break;
  }
  return entry;
}

// The row of an entry that is decoded and not cold.
KVRM_COLD inline isa::Row inline_row(const WordEntry& entry) {
  switch (entry.lone) {
#define KVRM_LONE_ROW(row, shape, promise) \
  case kLone_##row##shape: return isa::Row::row;
    KVRM_LONE_BRANCHES(KVRM_LONE_ROW)
    KVRM_LONE_OTHERS(KVRM_LONE_ROW)
#undef KVRM_LONE_ROW
    default: return isa::decode(entry.word);
  }
}

// Whether a word may be followed by the next one in a basic block.
KVRM_INLINE bool falls_through(const WordEntry& entry) {
  return entry.handler >= kFirstSequentialHandler ||
         (entry.handler == kHandleCold && entry.lone >= kFirstSequentialLone);
}

// The block length at an index, after all words up to `count` have their handlers.
KVRM_INLINE u16 block_length_at(const WordEntry* entries, u64 index, u64 count) {
  u32 length = 1;
  while (length < kMaxBlockLength && index + length <= count && falls_through(entries[index + length - 1])) {
    ++length;
  }
  return static_cast<u16>(length);
}

}  // namespace kvrm::interpreter
