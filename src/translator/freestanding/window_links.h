// The memory of a lane with a window (memory/window.h) inside a region: the host's MMU checks permission. Freestanding:
// part of the rows' bitcode.
//
// An access is one instruction with an entry in __ex_table: its address, and where the region continues if it faults.
// There the row returns kFallback, and the region leaves with the registers as they were before the instruction. So the
// interpreter runs it, on the paged path.
#pragma once

#if defined(__x86_64__) && defined(__clang__)  // its assembly is what clang makes bitcode of for this host

#include "semantics/load_store.h"
#include "translator/freestanding/links.h"

namespace kvrm::translator {

// Whether the address has a tag or is above the window: then the access is the interpreter's. The translator replaces
// this by a compare (passes/window_accesses.h).
extern "C" __attribute__((const, nothrow)) bool kvrm_outside_window(u64 address);

using Vector = u64 __attribute__((vector_size(16)));

// If the instruction at label `number` faults, control goes to the C++ label `fault`.
#define KVRM_FAULTS(number) "\n.pushsection __ex_table,\"a\"\n.long " #number "b - ., %l[fault] - .\n.popsection\n"

#define KVRM_AT(offset, size) "m"(*reinterpret_cast<const u8(*)[size]>(at + (offset)))

struct WindowLoad {
  const u8* at;

  KVRM_INLINE bool load(u8& value) const {
    u64 wide;
    asm goto("1: movzbl %1, %k0" KVRM_FAULTS(1) : "=r"(wide) : KVRM_AT(0, 1) : : fault);
    value = static_cast<u8>(wide);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(u16& value) const {
    u64 wide;
    asm goto("1: movzwl %1, %k0" KVRM_FAULTS(1) : "=r"(wide) : KVRM_AT(0, 2) : : fault);
    value = static_cast<u16>(wide);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(u32& value) const {
    u64 wide;
    asm goto("1: movl %1, %k0" KVRM_FAULTS(1) : "=r"(wide) : KVRM_AT(0, 4) : : fault);
    value = static_cast<u32>(wide);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(u64& value) const {
    u64 found;
    asm goto("1: movq %1, %q0" KVRM_FAULTS(1) : "=r"(found) : KVRM_AT(0, 8) : : fault);
    value = found;
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(semantics::Pair<u64>& value) const {
    u64 first, second;
    asm goto("1: movq %2, %q0\n2: movq %3, %q1" KVRM_FAULTS(1) KVRM_FAULTS(2)
             : "=&r"(first), "=r"(second)
             : KVRM_AT(0, 8), KVRM_AT(8, 8)
             :
             : fault);
    value = {first, second};
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(Vector (&value)[1]) const {
    Vector found;
    asm goto("1: movups %1, %0" KVRM_FAULTS(1) : "=x"(found) : KVRM_AT(0, 16) : : fault);
    value[0] = found;
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(Vector (&value)[2]) const {
    Vector first, second;
    asm goto("1: movups %2, %0\n2: movups %3, %1" KVRM_FAULTS(1) KVRM_FAULTS(2)
             : "=x"(first), "=x"(second)
             : KVRM_AT(0, 16), KVRM_AT(16, 16)
             :
             : fault);
    value[0] = first;
    value[1] = second;
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool load(Vector (&value)[4]) const {
    Vector a, b, c, d;
    asm goto("1: movups %4, %0\n2: movups %5, %1\n3: movups %6, %2\n4: movups %7, %3" KVRM_FAULTS(1) KVRM_FAULTS(2)
                 KVRM_FAULTS(3) KVRM_FAULTS(4)
             : "=x"(a), "=x"(b), "=x"(c), "=x"(d)
             : KVRM_AT(0, 16), KVRM_AT(16, 16), KVRM_AT(32, 16), KVRM_AT(48, 16)
             :
             : fault);
    value[0] = a;
    value[1] = b;
    value[2] = c;
    value[3] = d;
    return true;
  fault:
    return false;
  }
};

// Stores of several instructions do not cross a page (LinkedWindowMemory::store): the first one faults, or none.
struct WindowStore {
  u8* at;

  KVRM_INLINE bool store(u8 value) const {
    asm goto("1: movb %b0, %1" KVRM_FAULTS(1) : : "q"(value), KVRM_AT(0, 1) : "memory" : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(u16 value) const {
    asm goto("1: movw %w0, %1" KVRM_FAULTS(1) : : "r"(value), KVRM_AT(0, 2) : "memory" : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(u32 value) const {
    asm goto("1: movl %k0, %1" KVRM_FAULTS(1) : : "r"(value), KVRM_AT(0, 4) : "memory" : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(u64 value) const {
    asm goto("1: movq %q0, %1" KVRM_FAULTS(1) : : "r"(value), KVRM_AT(0, 8) : "memory" : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(const semantics::Pair<u64>& value) const {
    asm goto("1: movq %q0, %2\n2: movq %q1, %3" KVRM_FAULTS(1) KVRM_FAULTS(2)
             :
             : "r"(value.first), "r"(value.second), KVRM_AT(0, 8), KVRM_AT(8, 8)
             : "memory"
             : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(const Vector (&value)[1]) const {
    asm goto("1: movups %0, %1" KVRM_FAULTS(1) : : "x"(value[0]), KVRM_AT(0, 16) : "memory" : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(const Vector (&value)[2]) const {
    asm goto("1: movups %0, %2\n2: movups %1, %3" KVRM_FAULTS(1) KVRM_FAULTS(2)
             :
             : "x"(value[0]), "x"(value[1]), KVRM_AT(0, 16), KVRM_AT(16, 16)
             : "memory"
             : fault);
    return true;
  fault:
    return false;
  }
  KVRM_INLINE bool store(const Vector (&value)[4]) const {
    asm goto("1: movups %0, %4\n2: movups %1, %5\n3: movups %2, %6\n4: movups %3, %7" KVRM_FAULTS(1) KVRM_FAULTS(2)
                 KVRM_FAULTS(3) KVRM_FAULTS(4)
             :
             : "x"(value[0]), "x"(value[1]), "x"(value[2]), "x"(value[3]), KVRM_AT(0, 16), KVRM_AT(16, 16),
               KVRM_AT(32, 16), KVRM_AT(48, 16)
             : "memory"
             : fault);
    return true;
  fault:
    return false;
  }
};

#undef KVRM_AT
#undef KVRM_FAULTS

// What a T is in host registers; void: T is accessed through the TLB.
template <class T, u64 kSize = sizeof(T)>
struct WindowPieces {
  using Type = void;
};
template <class T>
struct WindowPieces<T, 1> {
  using Type = u8;
};
template <class T>
struct WindowPieces<T, 2> {
  using Type = u16;
};
template <class T>
struct WindowPieces<T, 4> {
  using Type = u32;
};
template <class T>
struct WindowPieces<T, 8> {
  using Type = u64;
};
template <class T>
struct WindowPieces<T, 16> {
  using Type = Vector[1];
};
template <>
struct WindowPieces<semantics::Pair<u64>, 16> {
  using Type = semantics::Pair<u64>;
};
template <class T>
struct WindowPieces<T, 32> {
  using Type = Vector[2];
};
template <class T>
struct WindowPieces<T, 64> {
  using Type = Vector[4];
};

// What it is when it is stored.
template <class T>
struct StoredPieces : WindowPieces<T> {};
#if defined(KVRM_WINDOW_STENCILS)
// Stencils read both registers from memory, so one vector takes fewer instructions than two words and their check.
template <>
struct StoredPieces<semantics::Pair<u64>> : WindowPieces<U128> {};
#endif

template <class T>
inline constexpr bool kIsVoid = false;
template <>
inline constexpr bool kIsVoid<void> = true;

// What has no window access goes through `otherwise`, another policy.
template <class Otherwise>
struct WindowMemory {
  u8* window;
  Otherwise otherwise;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    using Pieces = typename WindowPieces<T>::Type;
    if constexpr (kIsVoid<Pieces>) {
      return otherwise.load(cpu, address, value);
    } else {
      if (KVRM_UNLIKELY(kvrm_outside_window(address))) return Trap::kFallback;
      Pieces pieces;
      if (KVRM_UNLIKELY(!WindowLoad{window + address}.load(pieces))) return Trap::kFallback;
      __builtin_memcpy(&value, &pieces, sizeof(T));
      return Trap::kNone;
    }
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    using Pieces = typename StoredPieces<T>::Type;
    if constexpr (kIsVoid<Pieces>) {
      return otherwise.store(cpu, address, value);
    } else {
      if (KVRM_UNLIKELY(kvrm_outside_window(address))) return Trap::kFallback;
      // All or nothing: one page, or one instruction.
      constexpr u64 kInPage = ~memory::kPageMask;
      constexpr bool kOneInstruction = sizeof(T) <= 8 || (sizeof(T) == 16 && !kIsPair<Pieces>);
      if (!kOneInstruction && KVRM_UNLIKELY((address & kInPage) > kInPage + 1 - sizeof(T))) return Trap::kFallback;
      Pieces pieces;
      __builtin_memcpy(&pieces, &value, sizeof(T));
      if (KVRM_UNLIKELY(!WindowStore{window + address}.store(pieces))) return Trap::kFallback;
      return Trap::kNone;
    }
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    return otherwise.compare_exchange(cpu, address, expected, desired, observed);
  }

  KVRM_INLINE void fence() {}  // the lane is alone with its memory

 private:
  template <class T>
  static constexpr bool kIsPair = false;
  template <>
  constexpr bool kIsPair<semantics::Pair<u64>> = true;
};

}  // namespace kvrm::translator

#endif
