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

// The same at any address of a page, word by word. kFallback: not in one page.
struct AcrossWords {
  ProbeL1<true> asked;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 at, T& value) {
    const Trap trap = find(cpu, at, sizeof(T), Access::kRead);
    if (trap != Trap::kNone) return trap;
    u64 words[(sizeof(T) + 7) / 8];
#pragma GCC unroll 8
    for (u32 i = 0; i < sizeof(words) / 8; ++i) words[i] = get(byte(at + i * 8), sizeof(T) < 8 ? sizeof(T) : 8);
    __builtin_memcpy(&value, words, sizeof(T));
    return Trap::kNone;
  }
  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 at, const T& value) {
    const Trap trap = find(cpu, at, sizeof(T), Access::kWrite);
    if (trap != Trap::kNone) return trap;
    u64 words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, &value, sizeof(T));
#pragma GCC unroll 8
    for (u32 i = 0; i < sizeof(words) / 8; ++i) {
      for (u32 j = 0; j < (sizeof(T) < 8 ? sizeof(T) : 8); ++j)
        store_global(reinterpret_cast<u8*>(byte(at + i * 8) + j), static_cast<u8>(words[i] >> j * 8));
    }
    return Trap::kNone;
  }
  KVRM_INLINE void fence() const {}

 private:
  KVRM_INLINE Trap find(Cpu& cpu, u64 at, u32 size, Access how) {
    u8 any = 0;
    (void)(how == Access::kRead ? asked.load(cpu, at, any) : asked.store(cpu, at, any));
    if (((at ^ (at + size - 1)) & kPageMask) != 0) return Trap::kFallback;
    return asked.wrong != 0 ? Trap::kTlbMiss : Trap::kNone;
  }
  KVRM_INLINE u64 byte(u64 at) const { return asked.known.page + (at & kUntagged); }
  // Up to 8 bytes.
  static KVRM_INLINE u64 get(u64 byte, u32 size) {
    const auto word = [](u64 at) { return load_global<u64>(reinterpret_cast<const u8*>(at)); };
    const u32 shift = static_cast<u32>(byte & 7) * 8;
    u64 value = word(byte & ~u64{7}) >> shift;
    if (shift + size * 8 > 64) value |= word((byte & ~u64{7}) + 8) << (64 - shift);
    return value;
  }
};

}  // namespace kvrm::memory
