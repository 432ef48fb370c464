// The loop for many lanes: runs one lane's decoded words until it diverges from the others, has used up its slice, or
// comes to an instruction that needs more than the registers and the L1 TLB. Freestanding.
#pragma once

#include "dispatch/router.h"
#include "interpreter/freestanding/cold_rows.h"

namespace kvrm::interpreter {

// Decoded code: a range of guest addresses, one entry for each word.
struct CodeWindow {
  u64 start;
  u32 words;
  WordEntry* entries;  // two more than `words` are readable, three where words may fall through to the end
  const dispatch::Router* router = nullptr;  // for words that are not decoded
  memory::WatchedLine* watched = nullptr;  // of private code, whose words are decoded when they first run
};

template <class Op>
inline constexpr bool kAsksMemory = isa::facts(Op::kRow).routing == isa::Class::kLoadStore;

#if defined(__NVPTX__)
KVRM_INLINE WordEntry load_entry(const WordEntry* at) {
  u32 word, how, low, high;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(word), "=r"(how), "=r"(low), "=r"(high) : "l"(at));
  return {word, static_cast<u8>(how), static_cast<u8>(how >> 8), static_cast<u16>(how >> 16), u64{high} << 32 | low};
}
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(at), "r"(entry.word), "r"(u32{entry.block_length} << 16 | u32{entry.lone} << 8 | entry.handler),
                 "r"(static_cast<u32>(entry.operands)), "r"(static_cast<u32>(entry.operands >> 32))
               : "memory");
}
#else
KVRM_INLINE WordEntry load_entry(const WordEntry* at) { return *at; }
KVRM_INLINE void store_entry(WordEntry* at, const WordEntry& entry) { *at = entry; }
#endif

#define KVRM_IS(handler) || kHandler == kHandle_##handler
template <u32 kHandler>
inline constexpr bool kIsFrequent = false KVRM_FREQUENT_HANDLERS(KVRM_IS);
#undef KVRM_IS

// How the loop was left.
struct LoopEnd {
  Trap trap;  // kNone: the slice is used up, or pc left the window; otherwise the next instruction is not done
  u32 retired;
};

// The parts of run_lane_loop(), as macros: their labels and variables are its own.
#if defined(__NVPTX__)
#define KVRM_TARGET(row, shape, promise) ", %l[L_" #row #shape "]"
#define KVRM_LABEL(row, shape, promise) , L_##row##shape
// A jump table: the compiler would make a tree of comparisons.
#define KVRM_DISPATCH(handler)                                                                                         \
  asm goto("{ targets%=: .branchtargets %l[L_undecoded], %l[L_cold], %l[L_undefined], %l[L_region]" KVRM_HOT_BRANCHES( \
               KVRM_TARGET) KVRM_HOT_OTHERS(KVRM_TARGET) "; brx.idx.uni %0, targets%=; }"                              \
           :                                                                                                           \
           : "r"(u32{handler})                                                                                         \
           :                                                                                                           \
           : L_undecoded, L_cold, L_undefined, L_region KVRM_HOT_BRANCHES(KVRM_LABEL) KVRM_HOT_OTHERS(KVRM_LABEL));    \
  __builtin_unreachable()
#else
#define KVRM_DISPATCH(handler) goto dispatch
#endif

// After a branch. Continues if all lanes took it and the next block is inside the window and the slice.
#define KVRM_BRANCHED                                                                                                \
  const u64 offset = cpu.pc - start;                                                                                 \
  const u32 target = static_cast<u32>(offset >> 2);                                                                  \
  bias += index + 1 - target;                                                                                        \
  index = target;                                                                                                    \
  KVRM_UNIFORM_GOTO(                                                                                                 \
      !together.agree(                                                                                               \
          offset < u64{words} * 4 && offset % 4 == 0 && (Together::kAlone || target - from < until - from), target), \
      elsewhere)
#define KVRM_START                                                                                      \
  const WordEntry first = load_entry(code + index);                                                     \
  next = load_entry(code + index + 1);                                                                  \
  const u32 room = slice - bias < words ? slice - bias : words;                                         \
  KVRM_UNIFORM_GOTO(first.block_length >= kMaxBlockLength || index + first.block_length > room, leave); \
  handler = first.handler;                                                                              \
  operands = first.operands

// Frequent handlers end with a jump of their own, so that the GPU finds its target while it still works on the
// instruction; a jump for each handler would be too much for its compiler. The jump lists all handlers inside the
// list of all handlers: the preprocessor expands the inner list only in a second pass.
#define KVRM_NOTHING()
#define KVRM_AGAIN(...) __VA_ARGS__
#define KVRM_RUN_NEXT(row, shape, promise)                                                        \
  L_##row##shape : {                                                                              \
    auto op = unpack_operands<isa::row>(operands);                                                \
    promise;                                                                                      \
    if constexpr (semantics::kUsesPc<isa::row>) cpu.pc = start + u64{index} * 4;                  \
    if constexpr (kAsksMemory<isa::row>) {                                                        \
      (void)semantics::Meaning<isa::row>::execute(cpu, probe, op);                                \
      KVRM_UNIFORM_GOTO(together.any(probe.wrong != 0), missed);                                  \
    }                                                                                             \
    const WordEntry ahead = load_entry(code + index + 2);                                         \
    memory::L1Page<Together::kAlone> memory{probe.known.page};                                    \
    (void)semantics::Meaning<isa::row>::execute(cpu, memory, op);                                 \
    handler = next.handler;                                                                       \
    operands = next.operands;                                                                     \
    next = ahead;                                                                                 \
    ++index;                                                                                      \
    if constexpr (!(Together::kPrivateJumps && kIsFrequent<kHandle_##row##shape>)) goto dispatch; \
    KVRM_DISPATCH KVRM_NOTHING()(handler);                                                        \
  }
#define KVRM_RUN_BRANCH(row, shape, promise)                                                      \
  L_##row##shape : {                                                                              \
    auto op = unpack_operands<isa::row>(operands);                                                \
    promise;                                                                                      \
    cpu.pc = start + u64{index} * 4;                                                              \
    (void)semantics::Meaning<isa::row>::execute(cpu, probe, op);                                  \
    if constexpr (!(Together::kPrivateJumps && kIsFrequent<kHandle_##row##shape>)) goto branched; \
    KVRM_BRANCHED;                                                                                \
    KVRM_START;                                                                                   \
    KVRM_DISPATCH KVRM_NOTHING()(handler);                                                        \
  }

// Home gives the lane's registers: Cpu& cpu(). The lanes that call this together stay together: they have the same
// window, index and slice, and Together makes them vote whenever one of them may have to leave. It is constructed from
// the mask of these lanes:
//   kAlone               it is one lane, in a group of one
//   kPrivateJumps        frequent handlers end with a jump of their own
//   any(condition)       whether it holds for one of them
//   agree(inside, key)   whether all are inside and have the same key
// Other lanes of the group may wait to reconverge: the loop is left when a branch leads out of the words from `from` to
// before `until`. It is not inlined and calls nothing, so it has all hardware registers. It checks the slice only at
// the start of a basic block, and starts no block that it could not finish; so it may do nothing at all.
template <class Together, class Home>
__attribute__((noinline)) LoopEnd run_lane_loop(Home home, u64 start, u32 words, WordEntry* code, u32 index, u32 slice,
                                                u32 from, u32 until, u32 mask) {
  const Together together(mask);
  Cpu& cpu = home.cpu();
  memory::ProbeL1<Together::kAlone> probe{};
  u32 bias = 0 - index;  // retired instructions are index + bias
  u32 handler = 0;
  u64 operands = 0;
  WordEntry next{};
  goto begin;

#if !defined(__NVPTX__)
dispatch:
  switch (handler) {
    case kHandleUndecoded: goto L_undecoded;
    case kHandleCold: goto L_cold;
    case kHandleRegion: goto L_region;
#define KVRM_CASE(row, shape, promise) \
  case kHandle_##row##shape: goto L_##row##shape;
      KVRM_HOT_BRANCHES(KVRM_CASE)
      KVRM_HOT_OTHERS(KVRM_CASE)
#undef KVRM_CASE
    default: goto L_undefined;
  }
#endif

  KVRM_AGAIN(KVRM_HOT_OTHERS(KVRM_RUN_NEXT))
  KVRM_AGAIN(KVRM_HOT_BRANCHES(KVRM_RUN_BRANCH))

#if defined(__NVPTX__)
dispatch: { KVRM_DISPATCH(handler); }
#endif
begin: {
  KVRM_START;
  KVRM_DISPATCH(handler);
}
branched: {
  KVRM_BRANCHED;
  KVRM_START;
  KVRM_DISPATCH(handler);
}
L_undecoded:
L_cold:
L_region:
  cpu.pc = start + u64{index} * 4;
  return {Trap::kFallback, index + bias};

L_undefined:
  cpu.pc = start + u64{index} * 4;
  return {Trap::kUndefined, index + bias};

missed: {
  // No lane has executed the instruction yet, so all lanes can try again when the L1 TLB has the page.
  const bool is_cached = probe.wrong == 0 || (probe.misfit == 0 && memory::refill_l1(cpu, probe));
  KVRM_UNIFORM_GOTO(!together.any(!is_cached), dispatch);
  Trap trap = Trap::kDiverged;
  if (!is_cached) {
    cpu.fault_address = probe.address;
    cpu.fault_access = static_cast<u32>(probe.access);
    trap = Trap::kTlbMiss;
  }
  if (together.any(probe.misfit != 0)) trap = Trap::kFallback;
  cpu.pc = start + u64{index} * 4;
  return {trap, index + bias};
}

leave:
  cpu.pc = start + u64{index} * 4;
elsewhere:
  return {Trap::kNone, index + bias};
}
#undef KVRM_RUN_NEXT
#undef KVRM_RUN_BRANCH
#undef KVRM_AGAIN
#undef KVRM_NOTHING
#undef KVRM_BRANCHED
#undef KVRM_START
#undef KVRM_DISPATCH
#if defined(__NVPTX__)
#undef KVRM_TARGET
#undef KVRM_LABEL
#endif

// Runs the instruction at cpu.pc with all of the lane's memory; cpu.clock_ns is up to date. A row that completes leaves
// pc at the next instruction, and so does SVC.
KVRM_INLINE Trap run_one(Cpu& cpu, memory::LaneMemory& memory, const CodeWindow& window) {
  const u64 pc = cpu.pc;
  const WordEntry entry = load_entry(window.entries + (pc - window.start) / 4);
  if (entry.handler == kHandleUndefined) return Trap::kUndefined;
  const isa::Row row = entry.handler == kHandleUndecoded ? window.router->row(entry.word, pc)
                       : entry.lone == kLoneCold         ? static_cast<isa::Row>(entry.operands)
                                                         : inline_row(entry);
  const Trap trap = run_cold(cpu, memory, row, entry.word);
  if (trap == Trap::kNone && isa::facts(row).flow == isa::Flow::kNext) cpu.pc = pc + 4;
  return trap;
}

}  // namespace kvrm::interpreter
