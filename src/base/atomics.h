// Atomics and fences with their memory orders and scopes, in the namespace kvrm::sync. All memory that lanes share with
// each other or with the host is accessed through these functions, which mean the same on a GPU and on the host:
//
//   load<kAcquire, kSystem>(&flag)      store<kRelease, kSystem>(&flag, 1u)      add<kRelaxed, kDevice>(&count, u64{1})
//
// Scope kDevice orders against all lanes of one device, kSystem against the host too; the host has one scope only.
// Read-modify-write operations return the old value. T is u8, u16, u32 or u64, aligned to its size, in any memory.
//
// On nvptx64 this is inline PTX: clang cannot select acquire and release there, and loses the order of what it can
// select (docs/internals/gpu.md). All of it is in sm_70 and PTX 6.3, except the 16-byte exchange.
#pragma once

#include "base/types.h"

namespace kvrm::sync {

enum Order { kRelaxed, kAcquire, kRelease, kAcqRel, kSequential };
enum Scope { kDevice, kSystem };

namespace detail {
template <class T>
struct Same {
  using Type = T;
};
template <class T>
using Value = typename Same<T>::Type;  // not deduced: a literal takes the type of what the pointer points to
}  // namespace detail

#if defined(__NVPTX__)

// Calls M with the order and the scope as PTX writes them.
#define KVRM_PTX_SCOPE(M, order)     \
  if constexpr (kScope == kDevice) { \
    M(order, "gpu")                  \
  } else {                           \
    M(order, "sys")                  \
  }
#define KVRM_PTX_EACH(M)                     \
  if constexpr (kOrder == kRelaxed) {        \
    KVRM_PTX_SCOPE(M, "relaxed")             \
  } else if constexpr (kOrder == kAcquire) { \
    KVRM_PTX_SCOPE(M, "acquire")             \
  } else if constexpr (kOrder == kRelease) { \
    KVRM_PTX_SCOPE(M, "release")             \
  } else {                                   \
    KVRM_PTX_SCOPE(M, "acq_rel")             \
  }

template <Order kOrder, Scope kScope, class T>
KVRM_INLINE T load(const T* at) {
  static_assert(kOrder == kRelaxed || kOrder == kAcquire);
  T value;
  u16 narrow;  // PTX has no registers of 8 bits
#define KVRM_PTX_LOAD(order, scope)                                                          \
  if constexpr (sizeof(T) == 8) {                                                            \
    asm volatile("ld." order "." scope ".u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory"); \
  } else if constexpr (sizeof(T) == 4) {                                                     \
    asm volatile("ld." order "." scope ".u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory"); \
  } else if constexpr (sizeof(T) == 2) {                                                     \
    asm volatile("ld." order "." scope ".u16 %0, [%1];" : "=h"(value) : "l"(at) : "memory"); \
  } else {                                                                                   \
    asm volatile("ld." order "." scope ".u8 %0, [%1];" : "=h"(narrow) : "l"(at) : "memory"); \
    value = static_cast<T>(narrow);                                                          \
  }
  KVRM_PTX_EACH(KVRM_PTX_LOAD)
#undef KVRM_PTX_LOAD
  return value;
}

template <Order kOrder, Scope kScope, class T>
KVRM_INLINE void store(T* at, detail::Value<T> value) {
  static_assert(kOrder == kRelaxed || kOrder == kRelease);
#define KVRM_PTX_STORE(order, scope)                                                                          \
  if constexpr (sizeof(T) == 8) {                                                                             \
    asm volatile("st." order "." scope ".u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");                  \
  } else if constexpr (sizeof(T) == 4) {                                                                      \
    asm volatile("st." order "." scope ".u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");                  \
  } else if constexpr (sizeof(T) == 2) {                                                                      \
    asm volatile("st." order "." scope ".u16 [%0], %1;" : : "l"(at), "h"(value) : "memory");                  \
  } else {                                                                                                    \
    asm volatile("st." order "." scope ".u8 [%0], %1;" : : "l"(at), "h"(static_cast<u16>(value)) : "memory"); \
  }
  KVRM_PTX_EACH(KVRM_PTX_STORE)
#undef KVRM_PTX_STORE
}

// add, fetch_and, fetch_or, exchange, min, max on u32 and u64.
#define KVRM_PTX_ATOM(order, scope)                                                \
  if constexpr (sizeof(T) == 8) {                                                  \
    asm volatile("atom." order "." scope "." KVRM_PTX_OPERATION "64 %0, [%1], %2;" \
                 : "=l"(found)                                                     \
                 : "l"(at), "l"(operand)                                           \
                 : "memory");                                                      \
  } else {                                                                         \
    asm volatile("atom." order "." scope "." KVRM_PTX_OPERATION "32 %0, [%1], %2;" \
                 : "=r"(found)                                                     \
                 : "l"(at), "r"(operand)                                           \
                 : "memory");                                                      \
  }
#define KVRM_PTX_FETCH(name)                            \
  template <Order kOrder, Scope kScope, class T>        \
  KVRM_INLINE T name(T* at, detail::Value<T> operand) { \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);    \
    T found;                                            \
    KVRM_PTX_EACH(KVRM_PTX_ATOM)                        \
    return found;                                       \
  }
#define KVRM_PTX_OPERATION "add.u"
KVRM_PTX_FETCH(add)
#undef KVRM_PTX_OPERATION
#define KVRM_PTX_OPERATION "and.b"
KVRM_PTX_FETCH(fetch_and)
#undef KVRM_PTX_OPERATION
#define KVRM_PTX_OPERATION "or.b"
KVRM_PTX_FETCH(fetch_or)
#undef KVRM_PTX_OPERATION
#define KVRM_PTX_OPERATION "exch.b"
KVRM_PTX_FETCH(exchange)
#undef KVRM_PTX_OPERATION
#define KVRM_PTX_OPERATION "min.u"
KVRM_PTX_FETCH(fetch_min)
#undef KVRM_PTX_OPERATION
#define KVRM_PTX_OPERATION "max.u"
KVRM_PTX_FETCH(fetch_max)
#undef KVRM_PTX_OPERATION
#undef KVRM_PTX_FETCH
#undef KVRM_PTX_ATOM

// Succeeded if what it returns equals expected.
template <Order kOrder, Scope kScope, class T>
KVRM_INLINE T compare_exchange(T* at, detail::Value<T> expected, detail::Value<T> desired) {
  T found;
#define KVRM_PTX_CAS(order, scope)                                    \
  if constexpr (sizeof(T) == 8) {                                     \
    asm volatile("atom." order "." scope ".cas.b64 %0, [%1], %2, %3;" \
                 : "=l"(found)                                        \
                 : "l"(at), "l"(expected), "l"(desired)               \
                 : "memory");                                         \
  } else if constexpr (sizeof(T) == 4) {                              \
    asm volatile("atom." order "." scope ".cas.b32 %0, [%1], %2, %3;" \
                 : "=r"(found)                                        \
                 : "l"(at), "r"(expected), "r"(desired)               \
                 : "memory");                                         \
  } else {                                                            \
    asm volatile("atom." order "." scope ".cas.b16 %0, [%1], %2, %3;" \
                 : "=h"(found)                                        \
                 : "l"(at), "h"(expected), "h"(desired)               \
                 : "memory");                                         \
  }
  if constexpr (sizeof(T) > 1) {
    KVRM_PTX_EACH(KVRM_PTX_CAS)
  } else {
    // PTX has none for bytes, so this works on the word around it; if another of its bytes changed, it tries again.
    const u64 address = reinterpret_cast<u64>(at);
    u32* word = reinterpret_cast<u32*>(address & ~u64{3});
    const u32 shift = static_cast<u32>(address & 3) * 8;
    for (u32 seen = load<kRelaxed, kScope>(word);;) {
      const u32 wanted = (seen & ~(u32{0xff} << shift)) | static_cast<u32>(expected) << shift;
      const u32 next = (seen & ~(u32{0xff} << shift)) | static_cast<u32>(desired) << shift;
      const u32 was = compare_exchange<kOrder, kScope>(word, wanted, next);
      found = static_cast<T>(was >> shift);
      if (was == wanted || found != expected) break;
      seen = was;
    }
  }
#undef KVRM_PTX_CAS
  return found;
}

// Sixteen bytes at once: from sm_90 on and with PTX 8.3, which the build states as KVRM_PTX=83 since the compiler does
// not tell. Elsewhere no code may call this: lanes that share one memory take locks
// (memory/freestanding/shared_bytes.h), and those with private memory need no atomics.
#if __CUDA_ARCH__ >= 900 && defined(KVRM_PTX) && KVRM_PTX >= 83
inline constexpr bool kHasExchange16 = true;
template <Scope kScope>
KVRM_INLINE U128 compare_exchange_16(U128* at, const U128& expected, const U128& desired) {
  U128 found;
#define KVRM_PTX_CAS16(order, scope)                                                                     \
  asm volatile("{ .reg .b128 e, d, f; mov.b128 e, {%3, %4}; mov.b128 d, {%5, %6}; atom." order "." scope \
               ".cas.b128 f, [%2], e, d; mov.b128 {%0, %1}, f; }"                                        \
               : "=l"(found.lo), "=l"(found.hi)                                                          \
               : "l"(at), "l"(expected.lo), "l"(expected.hi), "l"(desired.lo), "l"(desired.hi)           \
               : "memory");
  KVRM_PTX_SCOPE(KVRM_PTX_CAS16, "acq_rel")
#undef KVRM_PTX_CAS16
  return found;
}
#else
inline constexpr bool kHasExchange16 = false;
template <Scope>
KVRM_INLINE U128 compare_exchange_16(U128*, const U128&, const U128&) {
  __builtin_trap();
}
#endif

template <Order kOrder, Scope kScope>
KVRM_INLINE void fence() {
  static_assert(kOrder == kAcqRel || kOrder == kSequential);
#define KVRM_PTX_FENCE(order, scope) asm volatile("fence." order "." scope ";" : : : "memory");
  if constexpr (kOrder == kAcqRel) {
    KVRM_PTX_SCOPE(KVRM_PTX_FENCE, "acq_rel")
  } else {
    KVRM_PTX_SCOPE(KVRM_PTX_FENCE, "sc")
  }
#undef KVRM_PTX_FENCE
}

#undef KVRM_PTX_EACH
#undef KVRM_PTX_SCOPE

// For a loop that waits: yields for about that long.
KVRM_INLINE void pause(u32 nanoseconds) { asm volatile("nanosleep.u32 %0;" : : "r"(nanoseconds) : "memory"); }

#else  // the host

namespace detail {
constexpr int builtin_order(Order order) {
  switch (order) {
    case kRelaxed: return __ATOMIC_RELAXED;
    case kAcquire: return __ATOMIC_ACQUIRE;
    case kRelease: return __ATOMIC_RELEASE;
    case kAcqRel: return __ATOMIC_ACQ_REL;
    default: return __ATOMIC_SEQ_CST;
  }
}
constexpr int order_of_failure(Order order) {
  return order == kAcquire || order == kAcqRel ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}
}  // namespace detail

template <Order kOrder, Scope, class T>
KVRM_INLINE T load(const T* at) {
  return __atomic_load_n(at, detail::builtin_order(kOrder));
}
template <Order kOrder, Scope, class T>
KVRM_INLINE void store(T* at, detail::Value<T> value) {
  __atomic_store_n(at, value, detail::builtin_order(kOrder));
}
template <Order kOrder, Scope, class T>
KVRM_INLINE T add(T* at, detail::Value<T> operand) {
  return __atomic_fetch_add(at, operand, detail::builtin_order(kOrder));
}
template <Order kOrder, Scope, class T>
KVRM_INLINE T fetch_and(T* at, detail::Value<T> operand) {
  return __atomic_fetch_and(at, operand, detail::builtin_order(kOrder));
}
template <Order kOrder, Scope, class T>
KVRM_INLINE T fetch_or(T* at, detail::Value<T> operand) {
  return __atomic_fetch_or(at, operand, detail::builtin_order(kOrder));
}
template <Order kOrder, Scope, class T>
KVRM_INLINE T exchange(T* at, detail::Value<T> operand) {
  return __atomic_exchange_n(at, operand, detail::builtin_order(kOrder));
}
// Succeeded if what it returns equals expected.
template <Order kOrder, Scope, class T>
KVRM_INLINE T compare_exchange(T* at, detail::Value<T> expected, detail::Value<T> desired) {
  __atomic_compare_exchange_n(at, &expected, desired, false, detail::builtin_order(kOrder),
                              detail::order_of_failure(kOrder));
  return expected;
}
template <Order kOrder, Scope kScope, class T>
KVRM_INLINE T fetch_min(T* at, detail::Value<T> operand) {
  for (T seen = load<kRelaxed, kScope>(at);;) {
    const T found = compare_exchange<kOrder, kScope>(at, seen, operand < seen ? operand : seen);
    if (found == seen) return found;
    seen = found;
  }
}
template <Order kOrder, Scope kScope, class T>
KVRM_INLINE T fetch_max(T* at, detail::Value<T> operand) {
  for (T seen = load<kRelaxed, kScope>(at);;) {
    const T found = compare_exchange<kOrder, kScope>(at, seen, operand > seen ? operand : seen);
    if (found == seen) return found;
    seen = found;
  }
}
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KVRM_FENCE_WORD
#endif
#endif
#if defined(KVRM_FENCE_WORD)
// The thread sanitizer does not know fences. An atomic on a common word gives it the same order.
inline u32 fence_word = 0;
template <Order, Scope>
KVRM_INLINE void fence() {
  __atomic_fetch_add(&fence_word, 1, __ATOMIC_ACQ_REL);
}
#else
template <Order kOrder, Scope>
KVRM_INLINE void fence() {
  __atomic_thread_fence(detail::builtin_order(kOrder));
}
#endif

#if defined(__x86_64__)
inline constexpr bool kHasExchange16 = true;
template <Scope>
KVRM_INLINE U128 compare_exchange_16(U128* at, const U128& expected, const U128& desired) {
  U128 found = expected;
  asm volatile("lock cmpxchg16b %2"
               : "+a"(found.lo), "+d"(found.hi), "+m"(*at)
               : "b"(desired.lo), "c"(desired.hi)
               : "memory", "cc");
  return found;
}
KVRM_INLINE void pause(u32) { __builtin_ia32_pause(); }
#else
inline constexpr bool kHasExchange16 = false;
template <Scope>
KVRM_INLINE U128 compare_exchange_16(U128*, const U128&, const U128&) {
  __builtin_trap();
}
KVRM_INLINE void pause(u32) {}
#endif

#endif

}  // namespace kvrm::sync
