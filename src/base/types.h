// Fixed-size types and the host/device markers every freestanding header uses.
// Nothing in src/base, src/isa or src/semantics needs a standard library: the same text is compiled
// by g++, by clang for x86-64 and by clang for nvptx64.
#pragma once

namespace kvrm {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);

// A 128-bit value: a vector register, a 16-byte memory access.
struct U128 {
  u64 lo;
  u64 hi;
  friend constexpr bool operator==(const U128&, const U128&) = default;
};

}  // namespace kvrm

// KVRM_INLINE: semantics and everything they call. Always inlined, so that operands fold and the
// state stays in registers. KVRM_COLD: helpers that are called, with values in and values out.
#define KVRM_INLINE inline __attribute__((always_inline))
#define KVRM_COLD __attribute__((noinline, cold))
#define KVRM_LIKELY(x) __builtin_expect(!!(x), 1)
#define KVRM_UNLIKELY(x) __builtin_expect(!!(x), 0)
// Tells the compiler that something holds.
#define KVRM_ASSUME(condition) ((condition) ? (void)0 : __builtin_unreachable())
