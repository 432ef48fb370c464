// Cross-lane operations of a warp's 32 threads, and a thread's indices. For nvptx64 only: on the host it is empty, and
// tests bring a simulated warp with the same members.
//
// Exactly the threads of its mask must call a function that takes one. Build with -fconvergent-functions, or the
// compiler may move a vote into a branch.
#pragma once

#include "base/types.h"

// A uniform jump: all threads that get here take it, or none. ptxas cannot see that, and prepares for divergence and
// reconvergence wherever a condition is not a constant.
#if defined(__NVPTX__)
// The jump goes to a label of its own first, kept by an empty asm: clang 19 loses values at an asm goto to a label that
// other jumps share.
#define KVRM_UNIFORM_GOTO(condition, label)                                        \
  do {                                                                             \
    __label__ taken, not_taken;                                                    \
    asm goto("{ .reg .pred jumps; setp.ne.u32 jumps, %0, 0; @jumps bra.uni %l1; }" \
             :                                                                     \
             : "r"(static_cast<u32>(condition))                                    \
             :                                                                     \
             : taken);                                                             \
    goto not_taken;                                                                \
  taken:                                                                           \
    asm volatile("");                                                              \
    goto label;                                                                    \
  not_taken:;                                                                      \
  } while (false)
#else
#define KVRM_UNIFORM_GOTO(condition, label) \
  if (KVRM_UNLIKELY(condition)) goto label
#endif

#if defined(__NVPTX__)

namespace kvrm::warp {

inline constexpr u32 kSize = 32;
inline constexpr u32 kAll = 0xffffffff;

KVRM_INLINE u32 lane() {
  u32 value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}
// One-dimensional launches: the thread in its block, the block's size, the block, how many blocks.
KVRM_INLINE u32 thread() {
  u32 value;
  asm("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}
KVRM_INLINE u32 block_size() {
  u32 value;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(value));
  return value;
}
KVRM_INLINE u32 block() {
  u32 value;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}
KVRM_INLINE u32 blocks() {
  u32 value;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(value));
  return value;
}

// The threads that execute this together at this moment.
KVRM_INLINE u32 active_mask() {
  u32 mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask) : : "memory");
  return mask;
}
// Waits for the threads of the mask and orders their memory accesses before it against those after.
KVRM_INLINE void sync(u32 mask = kAll) { asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory"); }

// The threads of the mask for which the condition holds.
KVRM_INLINE u32 ballot(u32 mask, bool condition) {
  u32 result;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(result)
               : "r"(static_cast<u32>(condition)), "r"(mask)
               : "memory");
  return result;
}
KVRM_INLINE bool any(u32 mask, bool condition) { return ballot(mask, condition) != 0; }
KVRM_INLINE bool all(u32 mask, bool condition) { return ballot(mask, condition) == mask; }

// The value of thread `from`.
KVRM_INLINE u32 shuffle(u32 mask, u32 value, u32 from) {
  u32 result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(result) : "r"(value), "r"(from), "r"(mask) : "memory");
  return result;
}
KVRM_INLINE u64 shuffle(u32 mask, u64 value, u32 from) {
  const u64 low = shuffle(mask, static_cast<u32>(value), from);
  return static_cast<u64>(shuffle(mask, static_cast<u32>(value >> 32), from)) << 32 | low;
}

// The threads of the mask that hold the same value.
KVRM_INLINE u32 match(u32 mask, u32 value) {
  u32 result;
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask) : "memory");
  return result;
}
KVRM_INLINE u32 match(u32 mask, u64 value) {
  u32 result;
  asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(result) : "l"(value), "r"(mask) : "memory");
  return result;
}

// Over the threads of the mask (sm_80).
KVRM_INLINE u32 reduce_min(u32 mask, u32 value) {
  u32 result;
  asm volatile("redux.sync.min.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask) : "memory");
  return result;
}
KVRM_INLINE u32 reduce_max(u32 mask, u32 value) {
  u32 result;
  asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask) : "memory");
  return result;
}
KVRM_INLINE u32 reduce_add(u32 mask, u32 value) {
  u32 result;
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask) : "memory");
  return result;
}
// The smallest 64-bit value: first its upper half, then the lower half among those that share it.
KVRM_INLINE u64 reduce_min(u32 mask, u64 value) {
  const u32 high = reduce_min(mask, static_cast<u32>(value >> 32));
  const bool leads = static_cast<u32>(value >> 32) == high;
  const u32 low = reduce_min(mask, leads ? static_cast<u32>(value) : ~u32{0});
  return static_cast<u64>(high) << 32 | low;
}

// Nanoseconds of the device's clock (its resolution is about a microsecond), and cycles of this multiprocessor.
KVRM_INLINE u64 nanoseconds() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value) : : "memory");
  return value;
}
KVRM_INLINE u64 cycles() {
  u64 value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value) : : "memory");
  return value;
}

}  // namespace kvrm::warp

#endif
