// A decoded word as the loop for very many lanes wants it. Freestanding.
#pragma once

#include "interpreter/hot_rows.h"
#include "isa/decode.h"
#include "semantics/meaning.h"

namespace kvrm::interpreter {

// How a word is run: inline by one of the hot handlers, or by calling its row. Those that may lead away from the next
// word come first.
enum HotHandler : u16 {
  kHandleUndecoded,
  kHandleCold,
  kHandleUndefined,
#define KVRM_HOT_HANDLER(row, shape, promise) kHandle_##row##shape,
  KVRM_HOT_BRANCHES(KVRM_HOT_HANDLER) kFirstStraightHandler,
  kBeforeStraightHandlers = kFirstStraightHandler - 1,
  KVRM_HOT_OTHERS(KVRM_HOT_HANDLER)
#undef KVRM_HOT_HANDLER
};

struct alignas(16) WordEntry {
  u32 word;
  u16 handler;   // a HotHandler
  u16 straight;  // so many words, this one included, run one after the other; kTooStraight: at least as many
  u64 operands;  // of hot rows: the operand struct; of others: the row
};
static_assert(sizeof(WordEntry) == 16);
inline constexpr u16 kTooStraight = 4095;

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

// noinline: several loops may need it, and it is rarely called.
KVRM_COLD inline WordEntry make_word_entry(u32 word, isa::Row row) {
  WordEntry entry{word, kHandleCold, kTooStraight, static_cast<u64>(row)};
  switch (row) {
#define KVRM_ENTRY_CASE(row, first, shape)                            \
  case isa::Row::row: {                                               \
    const auto op = isa::row::decode(word);                           \
    entry.handler = static_cast<u16>(kHandle_##row##first + (shape)); \
    entry.operands = pack_operands(op);                               \
    break;                                                            \
  }
// The last argument says which of the row's handlers is the one for these operands, in the order of hot_rows.h.
#define KVRM_CASE_PLAIN(X, row) KVRM_ENTRY_CASE(row, , 0u)
#define KVRM_CASE_SIZED(X, row) KVRM_ENTRY_CASE(row, _w, op.sf)
#define KVRM_CASE_SHIFTED(X, row) KVRM_ENTRY_CASE(row, _w, op.sf + 2u * (op.imm6 == 0))
#define KVRM_CASE_MASKED(X, row) KVRM_ENTRY_CASE(row, _w, op.sf + 2u * (op.sf ? op.N == 1 : op.imms < 32))
#define KVRM_CASE_FIELDS(X, row) KVRM_ENTRY_CASE(row, _w_up, op.sf + 2u * (op.imms >= op.immr))
#define KVRM_CASE_INDEXED(X, row) KVRM_ENTRY_CASE(row, , u32{op.option == 3})
#define KVRM_CASE_SIZED_INDEXED(X, row) KVRM_ENTRY_CASE(row, _w, op.sf + 2u * (op.option == 3))
    KVRM_HOT_PLAIN_BRANCHES(KVRM_CASE_PLAIN, )
    KVRM_HOT_SIZED_BRANCHES(KVRM_CASE_SIZED, )
    KVRM_HOT_PLAIN(KVRM_CASE_PLAIN, )
    KVRM_HOT_SIZED(KVRM_CASE_SIZED, )
    KVRM_HOT_SHIFTED(KVRM_CASE_SHIFTED, )
    KVRM_HOT_MASKED(KVRM_CASE_MASKED, )
    KVRM_HOT_FIELDS(KVRM_CASE_FIELDS, )
    KVRM_HOT_INDEXED(KVRM_CASE_INDEXED, )
    KVRM_HOT_SIZED_INDEXED(KVRM_CASE_SIZED_INDEXED, )
    KVRM_ENTRY_CASE(B_cond, _0, op.cond)
    case isa::Row::kNone: entry.handler = kHandleUndefined; break;
    default: break;
#undef KVRM_CASE_PLAIN
#undef KVRM_CASE_SIZED
#undef KVRM_CASE_SHIFTED
#undef KVRM_CASE_MASKED
#undef KVRM_CASE_FIELDS
#undef KVRM_CASE_INDEXED
#undef KVRM_CASE_SIZED_INDEXED
#undef KVRM_ENTRY_CASE
  }
  return entry;
}

// How far the words run straight on from here, once all up to `count` have their handlers.
KVRM_INLINE u16 straight_words(const WordEntry* entries, u64 index, u64 count) {
  u32 straight = 1;
  while (straight < kTooStraight && index + straight <= count &&
         entries[index + straight - 1].handler >= kFirstStraightHandler) {
    ++straight;
  }
  return static_cast<u16>(straight);
}

}  // namespace kvrm::interpreter
