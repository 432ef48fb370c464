// Bytes that several lanes read and write at the same time. Freestanding.
//
// What is aligned is read and written in one piece, as the architecture promises (single-copy atomicity); a larger or
// an unaligned access is made of such pieces. The order of accesses is not made here but by fences
// (memory/freestanding/policy.h).
//
// Where a device cannot exchange 16 bytes at once, every access takes the lock of the 16 bytes it touches, so that a
// pair never changes by halves. The locks lie in a table of their own; elsewhere there is none and nothing is locked.
#pragma once

#include "base/atomics.h"

namespace kvrm::memory {

inline constexpr u32 kSharedLocks = 4096;

// An access of a known size in place, where nothing is locked: one aligned piece, or several of 8 bytes.
namespace detail {
template <u32 kSize>
struct PieceOf {
  using Type = u64;
};
template <>
struct PieceOf<1> {
  using Type = u8;
};
template <>
struct PieceOf<2> {
  using Type = u16;
};
template <>
struct PieceOf<4> {
  using Type = u32;
};
}  // namespace detail

template <class T>
struct SharedPieces {
  using Piece = typename detail::PieceOf<sizeof(T)>::Type;
  static constexpr u32 kCount = sizeof(T) % sizeof(Piece) == 0 ? sizeof(T) / sizeof(Piece) : 0;  // 0: not such a size

  static KVRM_INLINE T load(const u8* at) {
    All all;
#pragma GCC unroll 8
    for (u32 i = 0; i < kCount; ++i)
      all.of[i] = sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const Piece*>(at) + i);
    return __builtin_bit_cast(T, all);
  }
  static KVRM_INLINE void store(u8* at, const T& value) {
    const auto all = __builtin_bit_cast(All, value);
#pragma GCC unroll 8
    for (u32 i = 0; i < kCount; ++i)
      sync::store<sync::kRelaxed, sync::kDevice>(reinterpret_cast<Piece*>(at) + i, all.of[i]);
  }
  // Where there is one piece.
  static KVRM_INLINE T compare_exchange(u8* at, const T& expected, const T& desired) {
    const Piece seen = sync::compare_exchange<sync::kAcqRel, sync::kDevice>(
        reinterpret_cast<Piece*>(at), __builtin_bit_cast(Piece, expected), __builtin_bit_cast(Piece, desired));
    return __builtin_bit_cast(T, seen);
  }

 private:
  struct All {
    Piece of[kCount == 0 ? 1 : kCount];
  };
};

class SharedBytes {
 public:
  // kSharedLocks words that begin as zeros; null where sync::kHasExchange16 holds.
  KVRM_INLINE explicit SharedBytes(u32* locks) : locks_(locks) {}

  void load(const u8* from, void* to, u64 count) const {
    u8* const bytes = static_cast<u8*>(to);
    for (u64 done = 0; done < count;) {
      const u64 size = piece(from + done, count - done);
      guarded(from + done, [&] { load_piece(from + done, bytes + done, size); });
      done += size;
    }
  }

  void store(u8* to, const void* from, u64 count) const {
    const u8* const bytes = static_cast<const u8*>(from);
    for (u64 done = 0; done < count;) {
      const u64 size = piece(to + done, count - done);
      guarded(to + done, [&] { store_piece(to + done, bytes + done, size); });
      done += size;
    }
  }

  // The access is aligned: the architecture makes sure of it.
  void compare_exchange(u8* at, const void* expected, const void* desired, void* observed, u32 size) const {
    guarded(at, [&] {
      switch (size) {
        case 1: exchange<u8>(at, expected, desired, observed); break;
        case 2: exchange<u16>(at, expected, desired, observed); break;
        case 4: exchange<u32>(at, expected, desired, observed); break;
        case 8: exchange<u64>(at, expected, desired, observed); break;
        default: exchange_pair(at, expected, desired, observed);
      }
    });
  }

 private:
  // What can be accessed at once here.
  static KVRM_INLINE u64 piece(const u8* at, u64 count) {
    const u64 address = reinterpret_cast<u64>(at);
    for (u64 size = 8; size > 1; size /= 2) {
      if (size <= count && address % size == 0) return size;
    }
    return 1;
  }

  template <class T>
  static KVRM_INLINE void load_as(const u8* from, u8* to) {
    const T value = sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const T*>(from));
    __builtin_memcpy(to, &value, sizeof(T));
  }
  static KVRM_INLINE void load_piece(const u8* from, u8* to, u64 size) {
    switch (size) {
      case 1: return load_as<u8>(from, to);
      case 2: return load_as<u16>(from, to);
      case 4: return load_as<u32>(from, to);
      default: return load_as<u64>(from, to);
    }
  }

  template <class T>
  static KVRM_INLINE void store_as(u8* to, const u8* from) {
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    sync::store<sync::kRelaxed, sync::kDevice>(reinterpret_cast<T*>(to), value);
  }
  static KVRM_INLINE void store_piece(u8* to, const u8* from, u64 size) {
    switch (size) {
      case 1: return store_as<u8>(to, from);
      case 2: return store_as<u16>(to, from);
      case 4: return store_as<u32>(to, from);
      default: return store_as<u64>(to, from);
    }
  }

  template <class T>
  static KVRM_INLINE void exchange(u8* at, const void* expected, const void* desired, void* observed) {
    T wanted, replacement;
    __builtin_memcpy(&wanted, expected, sizeof(T));
    __builtin_memcpy(&replacement, desired, sizeof(T));
    const T seen = sync::compare_exchange<sync::kAcqRel, sync::kDevice>(reinterpret_cast<T*>(at), wanted, replacement);
    __builtin_memcpy(observed, &seen, sizeof(T));
  }

  KVRM_INLINE void exchange_pair(u8* at, const void* expected, const void* desired, void* observed) const {
    U128 wanted, replacement, seen;
    __builtin_memcpy(&wanted, expected, sizeof(U128));
    __builtin_memcpy(&replacement, desired, sizeof(U128));
    if (!locks_) {
      seen = sync::compare_exchange_16<sync::kDevice>(reinterpret_cast<U128*>(at), wanted, replacement);
    } else {
      u64* const halves = reinterpret_cast<u64*>(at);
      seen.lo = sync::load<sync::kRelaxed, sync::kDevice>(&halves[0]);
      seen.hi = sync::load<sync::kRelaxed, sync::kDevice>(&halves[1]);
      if (seen == wanted) {
        sync::store<sync::kRelaxed, sync::kDevice>(&halves[0], replacement.lo);
        sync::store<sync::kRelaxed, sync::kDevice>(&halves[1], replacement.hi);
      }
    }
    __builtin_memcpy(observed, &seen, sizeof(U128));
  }

  // The work is inside the loop: lanes of a warp that wait must not hold up the one that has the lock.
  template <class Work>
  KVRM_INLINE void guarded(const u8* at, Work work) const {
    if (!locks_) return work();
    u32* const lock = &locks_[reinterpret_cast<u64>(at) / 16 % kSharedLocks];
    for (bool done = false; !done;) {
      if (sync::compare_exchange<sync::kAcquire, sync::kDevice>(lock, 0, 1) == 0) {
        work();
        sync::store<sync::kRelease, sync::kDevice>(lock, 0);
        done = true;
      } else {
        sync::pause(50);
      }
    }
  }

  u32* locks_;
};

}  // namespace kvrm::memory
