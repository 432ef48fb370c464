// The memory of a lane that is alone in its warp, as its loop sees it: the pages of its L1 TLB. Freestanding.
#pragma once

#include "memory/freestanding/lane_memory.h"

namespace kvrm::memory {

// The policy of the loop. kTlbMiss: `asked` says what the L1 TLB has not. kDiverged: AcrossWords may do it.
struct LoneMemory {
  ProbeL1<true> asked;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 at, T& value) {
    (void)asked.load(cpu, at, value);
    if (asked.wrong != 0) return refusal();
    return L1Page<true>{asked.known.page}.load(cpu, at, value);
  }
  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 at, const T& value) {
    (void)asked.store(cpu, at, value);
    if (asked.wrong != 0) return refusal();
    return L1Page<true>{asked.known.page}.store(cpu, at, value);
  }
  // The L1 TLB has no page that lanes share.
  KVRM_INLINE void fence() const {}

 private:
  KVRM_INLINE Trap refusal() const { return asked.misfit != 0 ? Trap::kDiverged : Trap::kTlbMiss; }
};

// The same at any address of a page, up to 8 bytes at a time. kFallback: not in one page.
struct AcrossWords {
  ProbeL1<true> asked;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 at, T& value) {
    const Trap trap = find(cpu, at, sizeof(T), Access::kRead);
    if (trap != Trap::kNone) return trap;
    static_assert(sizeof(T) % kPart<T> == 0);
    u64 words[kParts<T>];
#pragma GCC unroll 8
    for (u32 i = 0; i < kParts<T>; ++i) words[i] = detail::get_across(page(at), offset(at) + i * 8, kPart<T>);
    __builtin_memcpy(&value, words, sizeof(T));
    return Trap::kNone;
  }
  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 at, const T& value) {
    const Trap trap = find(cpu, at, sizeof(T), Access::kWrite);
    if (trap != Trap::kNone) return trap;
    u64 words[kParts<T>] = {};
    __builtin_memcpy(words, &value, sizeof(T));
#pragma GCC unroll 8
    for (u32 i = 0; i < kParts<T>; ++i) detail::put_across(page(at), offset(at) + i * 8, words[i], kPart<T>);
    return Trap::kNone;
  }
  KVRM_INLINE void fence() const {}

 private:
  template <class T>
  static constexpr u32 kPart = sizeof(T) < 8 ? sizeof(T) : 8;
  template <class T>
  static constexpr u32 kParts = sizeof(T) / kPart<T>;

  KVRM_INLINE Trap find(Cpu& cpu, u64 at, u32 size, Access how) {
    u8 any = 0;
    (void)(how == Access::kRead ? asked.load(cpu, at, any) : asked.store(cpu, at, any));
    if (((at ^ (at + size - 1)) & kPageMask) != 0) return Trap::kFallback;
    return asked.wrong != 0 ? Trap::kTlbMiss : Trap::kNone;
  }
  // The L1 TLB of a lane that is alone has pages less their addresses.
  KVRM_INLINE u64 page(u64 at) const { return asked.known.page + (at & kTagMask); }
  static KVRM_INLINE u64 offset(u64 at) { return at & (kPageSize - 1); }
};

}  // namespace kvrm::memory
