// The loop for very many lanes: runs one lane's code from decoded words until it branches away from the others, has
// used its turn, or meets an instruction that needs more than the registers and the recent pages. Freestanding.
#pragma once

#include "dispatch/router.h"
#include "interpreter/cold_rows.h"

namespace kvrm::interpreter {

// Decoded code: a run of guest addresses, one entry for each word.
struct CodeWindow {
  u64 start;
  u32 words;
  WordEntry* entries;  // one more than words may be read
  const dispatch::Router* router = nullptr;  // says what words are that are not decoded
};

// Rows whose meaning can fail.
template <class Op>
inline constexpr bool kMayTrap = isa::facts(Op::kRow).routing == isa::Class::kLoadStore;

#if defined(__NVPTX__)
KVRM_INLINE WordEntry load_entry(const WordEntry* at) {
  u32 word, handler, low, high;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(word), "=r"(handler), "=r"(low), "=r"(high) : "l"(at));
  return {word, handler, u64{high} << 32 | low};
}
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(at), "r"(entry.word), "r"(entry.handler), "r"(static_cast<u32>(entry.operands)),
                 "r"(static_cast<u32>(entry.operands >> 32))
               : "memory");
}
#else
KVRM_INLINE WordEntry load_entry(const WordEntry* at) { return *at; }
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) { *at = entry; }
#endif

// How a turn ended.
struct TurnEnd {
  Trap trap;  // kNone: the turn is over, or pc left the window; kNotRecent, kNotHere: the next instruction is not done
  u32 retired;
};

// Home gives the lane's registers: Cpu& cpu(). The lanes that call this together stay together: they have the same
// window, index and turn, and Together makes them agree whenever one of them may have to leave. It is made of the mask
// of these lanes and of whether they are all that can run:
//   any(condition)       whether it holds for one of them
//   agree(inside, key)   whether all are inside the window and have the same key, and nobody else could run
// Not inlined and calling nothing: the registers of the machine belong to this loop.
template <class Together, class Home>
__attribute__((noinline)) TurnEnd run_turn(Home home, u64 start, u32 words, WordEntry* code, u32 index, u32 turn,
                                           u32 mask, bool whole) {
  const Together together(mask, whole);
  Cpu& cpu = home.cpu();
  memory::RecentPages memory;
  u32 from = index;  // where straight-line code began
  u32 retired = 0;
  u32 end = index + (turn < words - index ? turn : words - index);
  Trap trap = Trap::kNone;
  WordEntry entry = load_entry(code + index);

dispatch:
  // The word behind this one, before it is needed.
  const WordEntry following = load_entry(code + index + 1);
#if defined(__NVPTX__)
#define KVRM_TARGET_ONE(name) ", %l[L_" #name "]"
#define KVRM_TARGET_TWO(name) ", %l[L_" #name "_w], %l[L_" #name "_x]"
#define KVRM_TARGET_CONDITION(cond) ", %l[L_B_cond_" #cond "]"
#define KVRM_LABEL_ONE(name) , L_##name
#define KVRM_LABEL_TWO(name) , L_##name##_w, L_##name##_x
#define KVRM_LABEL_CONDITION(cond) , L_B_cond_##cond
  // A jump table: the compiler would make a tree of comparisons. All lanes here are at the same entry.
  asm goto("{ targets%=: .branchtargets %l[L_undecoded], %l[L_cold], %l[L_undefined]" KVRM_HOT_ROWS(KVRM_TARGET_ONE)
               KVRM_HOT_SIZED_ROWS(KVRM_TARGET_TWO)
                   KVRM_HOT_CONDITIONS(KVRM_TARGET_CONDITION) "; brx.idx.uni %0, targets%=; }"
           :
           : "r"(entry.handler)
           : "memory"
           : L_undecoded, L_cold,
             L_undefined KVRM_HOT_ROWS(KVRM_LABEL_ONE) KVRM_HOT_SIZED_ROWS(KVRM_LABEL_TWO)
                 KVRM_HOT_CONDITIONS(KVRM_LABEL_CONDITION));
  __builtin_unreachable();
#else
  switch (entry.handler) {
    case kHandleUndecoded: goto L_undecoded;
    case kHandleCold: goto L_cold;
#define KVRM_CASE_ONE(name) \
  case kHandle_##name: goto L_##name;
#define KVRM_CASE_TWO(name)                   \
  case kHandle_##name##_w: goto L_##name##_w; \
  case kHandle_##name##_x: goto L_##name##_x;
      KVRM_HOT_ROWS(KVRM_CASE_ONE)
      KVRM_HOT_SIZED_ROWS(KVRM_CASE_TWO)
#define KVRM_CASE_CONDITION(cond) \
  case kHandle_B_cond_##cond: goto L_B_cond_##cond;
      KVRM_HOT_CONDITIONS(KVRM_CASE_CONDITION)
    default: goto L_undefined;
  }
#endif

#define KVRM_BODY(name, fix)                                                      \
  {                                                                               \
    isa::name op = unpack_operands<isa::name>(entry.operands);                    \
    fix;                                                                          \
    if constexpr (semantics::kUsesPc<isa::name>) cpu.pc = start + u64{index} * 4; \
    if constexpr (isa::facts(isa::Row::name).flow == isa::Flow::kNext) {          \
      trap = semantics::Meaning<isa::name>::execute(cpu, memory, op);             \
      if constexpr (kMayTrap<isa::name>) goto next_if_done;                       \
      goto next;                                                                  \
    } else {                                                                      \
      (void)semantics::Meaning<isa::name>::execute(cpu, memory, op);              \
      goto branched;                                                              \
    }                                                                             \
  }
#define KVRM_RUN_ONE(name) L_##name : KVRM_BODY(name, (void)0)
#define KVRM_RUN_TWO(name) L_##name##_w : KVRM_BODY(name, op.sf = 0) L_##name##_x : KVRM_BODY(name, op.sf = 1)
#define KVRM_RUN_CONDITION(condition) L_B_cond_##condition : KVRM_BODY(B_cond, op.cond = condition)
  KVRM_HOT_ROWS(KVRM_RUN_ONE)
  KVRM_HOT_SIZED_ROWS(KVRM_RUN_TWO)
  KVRM_HOT_CONDITIONS(KVRM_RUN_CONDITION)

L_undecoded:
L_cold:
  trap = Trap::kNotHere;
  goto leave;

L_undefined:
  trap = Trap::kUndefined;
  goto leave;

next_if_done:
  if (KVRM_UNLIKELY(together.any(trap != Trap::kNone))) {
    index += trap == Trap::kNone;
    goto leave;
  }
next:
  if (++index == end) goto leave;
  entry = following;
  goto dispatch;

branched: {
  retired += index + 1 - from;
  const u64 distance = cpu.pc - start;
  const bool inside = distance < u64{words} * 4 && distance % 4 == 0;
  index = static_cast<u32>(distance >> 2);
  from = index;
  const u32 left = turn - retired;
  if (!together.agree(inside, index) || left == 0) return {Trap::kNone, retired};
  end = index + (left < words - index ? left : words - index);
  entry = load_entry(code + index);
  goto dispatch;
}

leave:
  cpu.pc = start + u64{index} * 4;
  return {trap, retired + (index - from)};
}

// The instruction at cpu.pc, with all of the lane's memory. The clock is the lane's time now. A row that completes
// leaves pc at the next instruction, and so does SVC.
KVRM_INLINE Trap run_one(Cpu& cpu, memory::LaneMemory& memory, const CodeWindow& window) {
  const u64 pc = cpu.pc;
  const WordEntry entry = load_entry(window.entries + (pc - window.start) / 4);
  if (entry.handler == kHandleUndefined) return Trap::kUndefined;
  const isa::Row row = entry.handler == kHandleCold        ? static_cast<isa::Row>(entry.operands)
                       : entry.handler == kHandleUndecoded ? window.router->row(entry.word, pc)
                                                           : isa::decode(entry.word);
  const Trap trap = run_cold(cpu, memory, row, entry.word);
  if (trap == Trap::kNone && isa::facts(row).flow == isa::Flow::kNext) cpu.pc = pc + 4;
  return trap;
}

}  // namespace kvrm::interpreter
