// Memory as calls of functions without a body: what a loop's iteration loads and stores stays visible in its IR
// (accelerate/extract.h). Freestanding: part of the rows' bitcode.
#pragma once

#include "base/cpu.h"

namespace kvrm::translator {

extern "C" {
u8 kvrm_loop_load_1(u64 address);
u16 kvrm_loop_load_2(u64 address);
u32 kvrm_loop_load_4(u64 address);
u64 kvrm_loop_load_8(u64 address);
void kvrm_loop_store_1(u64 address, u8 value);
void kvrm_loop_store_2(u64 address, u16 value);
void kvrm_loop_store_4(u64 address, u32 value);
void kvrm_loop_store_8(u64 address, u64 value);
// An atomic access or a barrier.
void kvrm_loop_atomic();
}

struct LoopLinks {};

// No access faults here: an iteration that would is not part of a bulk step. Accesses of more than eight bytes come in
// pieces, in rising order.
struct LoopMemory {
  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
    if constexpr (sizeof(T) == 1) {
      put(value, kvrm_loop_load_1(address));
    } else if constexpr (sizeof(T) == 2) {
      put(value, kvrm_loop_load_2(address));
    } else if constexpr (sizeof(T) == 4) {
      put(value, kvrm_loop_load_4(address));
    } else {
      Pieces<T> pieces;
      load_pieces<T>(pieces, address);
      if constexpr (sizeof(T) % 8 != 0) kvrm_loop_atomic();  // an odd number of words: refused
      __builtin_memcpy(&value, pieces.all, Pieces<T>::kCount * 8);
    }
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu&, u64 address, const T& value) {
    if constexpr (sizeof(T) == 1) {
      kvrm_loop_store_1(address, get<u8>(value));
    } else if constexpr (sizeof(T) == 2) {
      kvrm_loop_store_2(address, get<u16>(value));
    } else if constexpr (sizeof(T) == 4) {
      kvrm_loop_store_4(address, get<u32>(value));
    } else {
      Pieces<T> pieces;
      __builtin_memcpy(pieces.all, &value, Pieces<T>::kCount * 8);
      if constexpr (sizeof(T) % 8 != 0) kvrm_loop_atomic();
      store_pieces<T>(pieces, address);
    }
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu&, u64, const T&, const T&, T& observed) {
    kvrm_loop_atomic();
    observed = T{};
    return Trap::kFallback;
  }
  KVRM_INLINE void fence() { kvrm_loop_atomic(); }

 private:
  template <class T>
  struct Pieces {
    static constexpr u32 kCount = sizeof(T) / 8;
    u64 all[kCount == 0 ? 1 : kCount];
  };
  // One by one: a loop would stay in the bitcode.
  template <class T, u32 i = 0>
  static KVRM_INLINE void load_pieces(Pieces<T>& pieces, u64 address) {
    if constexpr (i < Pieces<T>::kCount) {
      pieces.all[i] = kvrm_loop_load_8(address + i * 8);
      load_pieces<T, i + 1>(pieces, address);
    }
  }
  template <class T, u32 i = 0>
  static KVRM_INLINE void store_pieces(const Pieces<T>& pieces, u64 address) {
    if constexpr (i < Pieces<T>::kCount) {
      kvrm_loop_store_8(address + i * 8, pieces.all[i]);
      store_pieces<T, i + 1>(pieces, address);
    }
  }
  template <class T, class Bits>
  static KVRM_INLINE void put(T& value, Bits bits) {
    __builtin_memcpy(&value, &bits, sizeof(T));
  }
  template <class Bits, class T>
  static KVRM_INLINE Bits get(const T& value) {
    Bits bits;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
  }
};

}  // namespace kvrm::translator
