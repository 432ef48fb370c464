// The loop for a lane that is alone in its warp. Its code is small: where many such lanes run, what does not fit into a
// multiprocessor's instruction cache of 32 KB comes from a cache that several multiprocessors share, and takes several
// times as long (docs/internals/experiments.md). So there is one jump to the handlers, what follows an instruction is
// there once, and rows have few handlers each. It runs more rows than the loop for lanes together: those that do not
// occur cost nothing, and calling one takes thousands of cycles. Freestanding.
#pragma once

#include "interpreter/freestanding/lane_loop.h"
#include "memory/freestanding/lone_memory.h"

namespace kvrm::interpreter {

// What of a decoded word the loop needs until it runs.
struct NextWord {
  u64 operands;
  u32 how;  // block length, LoneHandler, HotHandler
  KVRM_INLINE u32 handler() const { return how >> 8 & 0xff; }
  KVRM_INLINE u32 block_length() const { return how >> 16; }
};
KVRM_INLINE NextWord load_word(const WordEntry* at) {
#if defined(__NVPTX__)
  // Not all 16 bytes at once: the register of an unused part would be waited for.
  u32 how;
  u64 operands;
  asm volatile("ld.global.u32 %0, [%2 + 4]; ld.global.u64 %1, [%2 + 8];" : "=r"(how), "=l"(operands) : "l"(at));
  return {operands, how};
#else
  return {at->operands, u32{at->block_length} << 16 | u32{at->lone} << 8 | at->handler};
#endif
}

template <class Op>
inline constexpr bool kReadsClock = isa::facts(Op::kRow).routing == isa::Class::kSystem;

// An instruction whose access is not for the loop: at any address of a page that is in the L1 TLB.
KVRM_COLD inline Trap run_across_words(Cpu& cpu, u32 handler, u64 operands, memory::ProbeL1<true>& asked) {
  memory::AcrossWords memory{};
  Trap trap = Trap::kFallback;
  switch (handler) {
#define KVRM_ACROSS(row, shape, promise)                             \
  case kLone_##row##shape:                                           \
    if constexpr (kAsksMemory<isa::row>) {                           \
      auto op = unpack_operands<isa::row>(operands);                 \
      promise;                                                       \
      trap = semantics::Meaning<isa::row>::execute(cpu, memory, op); \
    }                                                                \
    break;
    KVRM_LONE_OTHERS(KVRM_ACROSS)
#undef KVRM_ACROSS
    default: break;
  }
  asked = memory.asked;
  return trap;
}

#if defined(__NVPTX__)
#define KVRM_TARGET(row, shape, promise) ", %l[L_" #row #shape "]"
#define KVRM_LABEL(row, shape, promise) , L_##row##shape
// A jump table: the compiler would make a tree of comparisons.
#define KVRM_DISPATCH(handler)                                                                                     \
  asm goto(                                                                                                        \
      "{ targets%=: .branchtargets %l[L_undecoded], %l[L_cold], %l[L_undefined], %l[L_region]" KVRM_LONE_BRANCHES( \
          KVRM_TARGET) KVRM_LONE_OTHERS(KVRM_TARGET) "; brx.idx.uni %0, targets%=; }"                              \
      :                                                                                                            \
      : "r"(handler)                                                                                               \
      :                                                                                                            \
      : L_undecoded, L_cold, L_undefined, L_region KVRM_LONE_BRANCHES(KVRM_LABEL) KVRM_LONE_OTHERS(KVRM_LABEL));   \
  __builtin_unreachable()
#else
#define KVRM_CASE(row, shape, promise) \
  case kLone_##row##shape: goto L_##row##shape;
#define KVRM_DISPATCH(handler)             \
  switch (handler) {                       \
    case kLoneUndecoded: goto L_undecoded; \
    case kLoneCold: goto L_cold;           \
    case kLoneRegion:                      \
      goto L_region;                       \
      KVRM_LONE_BRANCHES(KVRM_CASE)        \
      KVRM_LONE_OTHERS(KVRM_CASE)          \
    default: goto L_undefined;             \
  }
#endif
// Every body ends at `join`, which ptxas takes for what it is. A row changes nothing before it accesses memory.
#define KVRM_RUN_NEXT(row, shape, promise)                                       \
  L_##row##shape : {                                                             \
    auto op = unpack_operands<isa::row>(operands);                               \
    promise;                                                                     \
    if constexpr (semantics::kUsesPc<isa::row>) cpu.pc = start + u64{index} * 4; \
    if constexpr (kReadsClock<isa::row>) cpu.clock_ns += index + bias;           \
    trap = semantics::Meaning<isa::row>::execute(cpu, memory, op);               \
    if constexpr (kReadsClock<isa::row>) cpu.clock_ns -= index + bias;           \
    goto join;                                                                   \
  }
#define KVRM_RUN_BRANCH(row, shape, promise)                      \
  L_##row##shape : {                                              \
    auto op = unpack_operands<isa::row>(operands);                \
    promise;                                                      \
    cpu.pc = start + u64{index} * 4;                              \
    (void)semantics::Meaning<isa::row>::execute(cpu, memory, op); \
    trap = kBranched;                                             \
    goto join;                                                    \
  }

// As run_lane_loop() with one lane. It checks the slice only at the start of a basic block, and starts no block that it
// could not finish; so it may do nothing at all.
template <class Home>
__attribute__((noinline)) LoopEnd run_lone_lane(Home home, u64 start, u32 words, WordEntry* code, u32 index,
                                                u32 slice) {
  constexpr Trap kBranched = static_cast<Trap>(64);
  Cpu& cpu = home.cpu();
  memory::LoneMemory memory{};
  u32 bias = 0 - index - 1;  // retired instructions are index + bias
  u32 handler = 0;
  u64 operands = 0;
  NextWord next{};
  Trap trap = kBranched;  // the first thing looks like the end of a branch
  cpu.pc = start + u64{index} * 4;

  for (;;) {
    if (trap == kBranched) {
      const u64 offset = cpu.pc - start;
      const u32 target = static_cast<u32>(offset >> 2);
      bias += index + 1 - target;
      index = target;
      if (offset >= u64{words} * 4 || offset % 4 != 0) return {Trap::kNone, index + bias};
      const NextWord first = load_word(code + index);
      next = load_word(code + index + 1);
      const u32 room = slice - bias < words ? slice - bias : words, length = first.block_length();
      if (length >= kMaxBlockLength || index + length > room) return {Trap::kNone, index + bias};
      handler = first.handler();
      operands = first.operands;
    } else if (trap != Trap::kNone) {
      // The instruction is not done yet, so it can be tried again when the L1 TLB has the page.
      const bool is_missed = trap == Trap::kTlbMiss;
      if (!is_missed || !memory::refill_l1(cpu, memory.asked)) {
        if (is_missed) {
          cpu.fault_address = memory.asked.address;
          cpu.fault_access = static_cast<u32>(memory.asked.access);
        }
        cpu.pc = start + u64{index} * 4;
        return {trap, index + bias};
      }
    }
    trap = Trap::kNone;
    const NextWord ahead = load_word(code + index + 2);
    KVRM_DISPATCH(handler);

    KVRM_LONE_OTHERS(KVRM_RUN_NEXT)
    KVRM_LONE_BRANCHES(KVRM_RUN_BRANCH)

  L_region:
  L_undecoded:
  L_cold: {
    trap = Trap::kFallback;
    goto join;
  }
  L_undefined: {
    trap = Trap::kUndefined;
    goto join;
  }

  join:
    if (trap == Trap::kDiverged) {
      cpu.pc = start + u64{index} * 4;
      trap = run_across_words(cpu, handler, operands, memory.asked);
    }
    if (trap == Trap::kNone) {
      handler = next.handler();
      operands = next.operands;
      next = ahead;
      ++index;
    }
  }
}
#undef KVRM_RUN_NEXT
#undef KVRM_RUN_BRANCH
#undef KVRM_DISPATCH
#if defined(__NVPTX__)
#undef KVRM_TARGET
#undef KVRM_LABEL
#else
#undef KVRM_CASE
#endif

}  // namespace kvrm::interpreter
