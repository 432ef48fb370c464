// The loop for very many lanes: runs one lane's code from decoded words until it branches away from the others, has
// used its turn, or meets an instruction that needs more than the registers and the recent pages. Freestanding.
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

// How a turn ended.
struct TurnEnd {
  Trap trap;    // kNone: the turn is over, or pc left the window; kNotHere: the next instruction must be run elsewhere
  u32 index;    // where the lane stands, if that is in the window
  u32 retired;
};

// Home gives the lane's registers: Cpu& cpu(). Together is asked after each branch whether to go on without looking at
// other lanes first: bool may_continue(key), where lanes with equal keys are about to run the same entry.
// Not inlined and calling nothing: the registers of the machine belong to this loop.
template <class Home, class Together>
__attribute__((noinline)) TurnEnd run_turn(Home home, CodeWindow window, u32 index, u32 turn, Together together) {
  Cpu& cpu = home.cpu();
  memory::RecentPages memory;
  WordEntry* const code = window.entries;
  const u32 key = static_cast<u32>(reinterpret_cast<u64>(code) / sizeof(WordEntry));
  u32 from = index;  // where straight-line code began
  u32 retired = 0;
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
  // A jump table: the compiler would make a tree of comparisons. All lanes here are at the same entry.
  asm goto(
      "{ targets%=: .branchtargets %l[L_undecoded], %l[L_cold], %l[L_undefined]" KVRM_HOT_ROWS(KVRM_TARGET_ONE)
          KVRM_HOT_SIZED_ROWS(KVRM_TARGET_TWO) "; brx.idx.uni %0, targets%=; }"
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
    if constexpr (isa::facts(isa::Row::name).flow == isa::Flow::kNext) {                          \
      trap = semantics::Meaning<isa::name>::execute(cpu, memory, op);                             \
      goto next;                                                                                  \
    } else {                                                                                      \
      (void)semantics::Meaning<isa::name>::execute(cpu, memory, op);                              \
      goto branched;                                                                              \
    }                                                                                             \
  }
#define KVRM_RUN_ONE(name) \
  L_##name : KVRM_BODY(name, (void)0)
#define KVRM_RUN_TWO(name)                      \
  L_##name##_w : KVRM_BODY(name, op.sf = 0) L_##name##_x : KVRM_BODY(name, op.sf = 1)
  KVRM_HOT_ROWS(KVRM_RUN_ONE)
  KVRM_HOT_SIZED_ROWS(KVRM_RUN_TWO)

L_undecoded:
L_cold:
  trap = Trap::kNotHere;
  goto leave;

L_undefined:
  trap = Trap::kUndefined;
  goto leave;

next:
  if (KVRM_UNLIKELY(trap != Trap::kNone)) goto leave;
  if (++index == end) goto leave;
  entry = following;
  goto dispatch;

branched: {
  retired += index + 1 - from;
  const u64 distance = cpu.pc - window.start;
  index = static_cast<u32>(distance >> 2);
  if (KVRM_UNLIKELY(distance >= u64{window.words} * 4 || distance % 4 != 0)) return {Trap::kNone, index, retired};
  from = index;
  const u32 left = turn - retired;
  end = index + (left < window.words - index ? left : window.words - index);
  if (left == 0 || !together.may_continue(key + index)) goto leave;
  entry = load_entry(code + index);
  goto dispatch;
}

leave:
  cpu.pc = window.start + u64{index} * 4;
  return {trap, index, retired + (index - from)};
}

// The instruction at cpu.pc, with all of the lane's memory. The clock is the lane's time now. A row that completes
// leaves pc at the next instruction, and so does SVC.
KVRM_INLINE Trap run_one(Cpu& cpu, memory::LaneMemory& memory, const CodeWindow& window) {
  const u64 pc = cpu.pc;
  WordEntry* const place = window.entries + (pc - window.start) / 4;
  WordEntry entry = load_entry(place);
  if (entry.handler == kHandleUndecoded) {
    entry = make_word_entry(memory::load_global<u32>(window.bytes + (pc - window.start)));
    store_entry(place, entry);
  }
  if (entry.handler == kHandleUndefined) return Trap::kUndefined;
  const Trap trap = run_cold(cpu, memory, static_cast<isa::Row>(entry.row), entry.word);
  if (trap == Trap::kNone && isa::facts(static_cast<isa::Row>(entry.row)).flow == isa::Flow::kNext) cpu.pc = pc + 4;
  return trap;
}

}  // namespace kvrm::interpreter
