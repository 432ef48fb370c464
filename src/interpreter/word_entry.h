// A decoded word as the loop for very many lanes wants it. Freestanding.
#pragma once

#include "interpreter/hot_rows.h"
#include "isa/decode.h"
#include "semantics/meaning.h"

namespace kvrm::interpreter {

// How a word is run: inline by one of the hot handlers, or by calling its row.
enum HotHandler : u32 {
  kHandleUndecoded,
  kHandleCold,
  kHandleUndefined,
#define KVRM_HANDLER_ONE(name) kHandle_##name,
#define KVRM_HANDLER_TWO(name) kHandle_##name##_w, kHandle_##name##_x,
#define KVRM_HANDLER_CONDITION(cond) kHandle_B_cond_##cond,
  KVRM_HOT_ROWS(KVRM_HANDLER_ONE) KVRM_HOT_SIZED_ROWS(KVRM_HANDLER_TWO) KVRM_HOT_CONDITIONS(KVRM_HANDLER_CONDITION)
#undef KVRM_HANDLER_CONDITION
#undef KVRM_HANDLER_ONE
#undef KVRM_HANDLER_TWO
};

struct alignas(16) WordEntry {
  u32 word;
  u32 handler;   // a HotHandler
  u64 operands;  // of hot rows: the operand struct; of others: the row
};
static_assert(sizeof(WordEntry) == 16);

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
  WordEntry entry{word, kHandleCold, static_cast<u64>(row)};
  switch (row) {
#define KVRM_CASE_ONE(name)                                  \
  case isa::Row::name:                                       \
    entry.handler = kHandle_##name;                          \
    entry.operands = pack_operands(isa::name::decode(word)); \
    break;
#define KVRM_CASE_TWO(name)                                          \
  case isa::Row::name:                                               \
    entry.handler = kHandle_##name##_w + isa::name::decode(word).sf; \
    entry.operands = pack_operands(isa::name::decode(word));         \
    break;
    KVRM_HOT_ROWS(KVRM_CASE_ONE)
    KVRM_HOT_SIZED_ROWS(KVRM_CASE_TWO)
#undef KVRM_CASE_ONE
#undef KVRM_CASE_TWO
    case isa::Row::B_cond:
      entry.handler = kHandle_B_cond_0 + isa::B_cond::decode(word).cond;
      entry.operands = pack_operands(isa::B_cond::decode(word));
      break;
    case isa::Row::kNone: entry.handler = kHandleUndefined; break;
    default: break;
  }
  return entry;
}

}  // namespace kvrm::interpreter
