// The loop for very many lanes: runs one lane's code from decoded words until it branches away from the others, has
// used its turn, or meets something it cannot do. Freestanding.
#pragma once

#include "interpreter/cold_rows.h"

namespace kvrm::interpreter {

// Decoded code: a run of guest addresses, one entry for each word.
struct CodeWindow {
  u64 start;
  u32 words;
  WordEntry* entries;  // one more than words may be read
  const u8* bytes;     // the words themselves
};

// Where a lane stands inside its window, and where its turn ends at the latest.
struct LanePlace {
  u32 index;
  u32 turn;     // how many instructions may retire
  u32 retired;  // and did
  u64 clock;    // at the start of the turn
};

#if defined(__NVPTX__)
KVRM_INLINE WordEntry load_entry(const WordEntry* at) {
  u32 word, head, low, high;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(word), "=r"(head), "=r"(low), "=r"(high) : "l"(at));
  return {word, static_cast<u16>(head), static_cast<u16>(head >> 16), u64{high} << 32 | low};
}
// Lanes that decode the same word write the same entry.
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(at), "r"(entry.word), "r"(u32{entry.handler} | u32{entry.row} << 16),
                 "r"(static_cast<u32>(entry.operands)), "r"(static_cast<u32>(entry.operands >> 32))
               : "memory");
}
#else
KVRM_INLINE WordEntry load_entry(const WordEntry* at) { return *at; }
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) { *at = entry; }
#endif

// What the loop asks whenever a branch was taken: whether to go on without looking at other lanes first.
struct AloneInWarp {
  KVRM_INLINE bool may_continue(u32) const { return true; }
};

// Returns why it stopped; kNone: the turn is over, or the pc left the window (cpu.pc says where it is).
template <class Together>
KVRM_INLINE Trap run_turn(Cpu& cpu, memory::LaneMemory& memory, const CodeWindow& window, LanePlace& place,
                          const Together& together) {
  using memory::LaneMemory;
  WordEntry* const code = window.entries;
  u32 index = place.index;
  u32 from = index;  // where straight-line code began
  u32 retired = 0;
  const u32 turn = place.turn;
  u32 end = index + (turn < window.words - index ? turn : window.words - index);
  Trap trap = Trap::kNone;
  WordEntry entry = load_entry(code + index);

dispatch:
  // The word behind this one, before it is needed.
  const WordEntry following = load_entry(code + index + 1);
#if defined(__NVPTX__)
#define KVRM_TARGET_ONE(name) ", %l[L_" #name "]"
#define KVRM_TARGET_TWO(name) ", %l[L_" #name "_w], %l[L_" #name "_x]"
#define KVRM_LABEL_ONE(name) , L_##name
#define KVRM_LABEL_TWO(name) , L_##name##_w, L_##name##_x
  // A jump table: the compiler would make a tree of comparisons.
  asm goto(
      "{ targets%=: .branchtargets %l[L_undecoded], %l[L_cold], %l[L_undefined]" KVRM_HOT_ROWS(KVRM_TARGET_ONE)
          KVRM_HOT_SIZED_ROWS(KVRM_TARGET_TWO) "; brx.idx %0, targets%=; }"
      :
      : "r"(u32{entry.handler})
      : "memory"
      : L_undecoded, L_cold, L_undefined KVRM_HOT_ROWS(KVRM_LABEL_ONE) KVRM_HOT_SIZED_ROWS(KVRM_LABEL_TWO));
  __builtin_unreachable();
#else
  switch (entry.handler) {
    case kHandleUndecoded: goto L_undecoded;
    case kHandleCold: goto L_cold;
#define KVRM_CASE_ONE(name) \
  case kHandle_##name: goto L_##name;
#define KVRM_CASE_TWO(name)             \
  case kHandle_##name##_w: goto L_##name##_w; \
  case kHandle_##name##_x: goto L_##name##_x;
    KVRM_HOT_ROWS(KVRM_CASE_ONE)
    KVRM_HOT_SIZED_ROWS(KVRM_CASE_TWO)
    default: goto L_undefined;
  }
#endif

#define KVRM_BODY(name, fix)                                                                      \
  {                                                                                               \
    isa::name op = unpack_operands<isa::name>(entry.operands);                                    \
    fix;                                                                                          \
    if constexpr (semantics::kUsesPc<isa::name>) cpu.pc = window.start + u64{index} * 4;          \
    trap = semantics::Meaning<isa::name>::execute(cpu, memory, op);                               \
    if constexpr (isa::facts(isa::Row::name).flow == isa::Flow::kNext) goto next;                 \
    goto branched;                                                                                \
  }
#define KVRM_RUN_ONE(name) \
  L_##name : KVRM_BODY(name, (void)0)
#define KVRM_RUN_TWO(name)                      \
  L_##name##_w : KVRM_BODY(name, op.sf = 0) L_##name##_x : KVRM_BODY(name, op.sf = 1)
  KVRM_HOT_ROWS(KVRM_RUN_ONE)
  KVRM_HOT_SIZED_ROWS(KVRM_RUN_TWO)

L_undecoded: {
  entry = make_word_entry(memory::load_global<u32>(window.bytes + u64{index} * 4));
  store_entry(code + index, entry);
  goto dispatch;
}

L_undefined:
  trap = Trap::kUndefined;
  goto next;

L_cold: {
  // Rows that read pc or the clock find them up to date.
  cpu.pc = window.start + u64{index} * 4;
  cpu.clock_ns = place.clock + retired + (index - from);
  trap = run_cold(cpu, memory, static_cast<isa::Row>(entry.row), entry.word);
  if (trap == Trap::kSystemCall) ++index;  // retired: pc is behind it
  goto next;
}

next:
  if (KVRM_UNLIKELY(trap != Trap::kNone)) goto leave;
  if (++index == end) goto leave;
  entry = following;
  goto dispatch;

branched: {
  retired += index + 1 - from;
  const u64 distance = cpu.pc - window.start;
  index = static_cast<u32>(distance >> 2);
  from = index;
  if (distance >= u64{window.words} * 4 || distance % 4 != 0) goto outside;
  const u32 left = turn - retired;
  end = index + (left < window.words - index ? left : window.words - index);
  if (left == 0 || !together.may_continue(index)) goto leave;
  entry = load_entry(code + index);
  goto dispatch;
}

leave:
  retired += index - from;
  cpu.pc = window.start + u64{index} * 4;
outside:
  place.index = index;
  place.retired = retired;
  return trap;
}

}  // namespace kvrm::interpreter
