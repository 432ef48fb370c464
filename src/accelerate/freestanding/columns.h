// A node's value in each iteration of a round.
#pragma once

#include "accelerate/freestanding/expression.h"

namespace kvrm::accelerate {

inline constexpr u32 kRound = 512;  // iterations
inline constexpr u64 kWholeRanges = 16;  // iterations from which ranges are moved or filled at once

template <class Work>
KVRM_INLINE void each_of(u64* to, u32 count, Work work) {
  for (u32 i = 0; i < count; ++i) to[i] = work(i);
}

// One operation over all iterations of a round; the compiler makes vector code of each loop.
inline void compute_column(const Node& node, u32 from, u64* to, const u64* a, const u64* b, const u64* c, u32 count) {
  const u64 mask = mask_of(node.width);
  const u32 width = node.width;
  switch (node.op) {
    case Op::kAdd: return each_of(to, count, [&](u32 i) { return (a[i] + b[i]) & mask; });
    case Op::kSub: return each_of(to, count, [&](u32 i) { return (a[i] - b[i]) & mask; });
    case Op::kMul: return each_of(to, count, [&](u32 i) { return (a[i] * b[i]) & mask; });
    case Op::kAnd: return each_of(to, count, [&](u32 i) { return a[i] & b[i]; });
    case Op::kOr: return each_of(to, count, [&](u32 i) { return a[i] | b[i]; });
    case Op::kXor: return each_of(to, count, [&](u32 i) { return a[i] ^ b[i]; });
    case Op::kSelect: return each_of(to, count, [&](u32 i) { return a[i] ? b[i] : c[i]; });
    case Op::kZeroExtend: return each_of(to, count, [&](u32 i) { return a[i]; });
    case Op::kTruncate: return each_of(to, count, [&](u32 i) { return a[i] & mask; });
    case Op::kEqual: return each_of(to, count, [&](u32 i) { return u64{a[i] == b[i]}; });
    case Op::kNotEqual: return each_of(to, count, [&](u32 i) { return u64{a[i] != b[i]}; });
    case Op::kLess: return each_of(to, count, [&](u32 i) { return u64{a[i] < b[i]}; });
    case Op::kLessEqual: return each_of(to, count, [&](u32 i) { return u64{a[i] <= b[i]}; });
    default: return each_of(to, count, [&](u32 i) { return evaluate(node.op, width, from, a[i], b[i], c[i]); });
  }
}

template <class T, u64 kStride>
inline void load_column(const u8* at, u64 stride, u64* to, u32 count) {
  if constexpr (kStride != 0) stride = kStride;
  each_of(to, count, [&](u32 i) {
    T value;
    __builtin_memcpy(&value, at + static_cast<i64>(i * stride), sizeof(T));
    return u64{value};
  });
}

template <class T, u64 kStride>
inline void store_column(u8* at, u64 stride, const u64* from, u32 count) {
  if constexpr (kStride != 0) stride = kStride;
  for (u32 i = 0; i < count; ++i) {
    const T value = static_cast<T>(from[i]);
    __builtin_memcpy(at + static_cast<i64>(i * stride), &value, sizeof(T));
  }
}

// Every stride; the usual one has a loop of its own. Strides may be negative: they wrap.
template <class T>
inline void load_stream(const u8* at, u64 stride, u64* to, u32 count) {
  if (stride == sizeof(T)) return load_column<T, sizeof(T)>(at, stride, to, count);
  load_column<T, 0>(at, stride, to, count);
}
template <class T>
inline void store_stream(u8* at, u64 stride, const u64* from, u32 count) {
  if (stride == sizeof(T)) return store_column<T, sizeof(T)>(at, stride, from, count);
  store_column<T, 0>(at, stride, from, count);
}

inline void load_stream(u32 size, const u8* at, u64 stride, u64* to, u32 count) {
  switch (size) {
    case 1: return load_stream<u8>(at, stride, to, count);
    case 2: return load_stream<u16>(at, stride, to, count);
    case 4: return load_stream<u32>(at, stride, to, count);
    default: return load_stream<u64>(at, stride, to, count);
  }
}
inline void store_stream(u32 size, u8* at, u64 stride, const u64* from, u32 count) {
  switch (size) {
    case 1: return store_stream<u8>(at, stride, from, count);
    case 2: return store_stream<u16>(at, stride, from, count);
    case 4: return store_stream<u32>(at, stride, from, count);
    default: return store_stream<u64>(at, stride, from, count);
  }
}

// Only where the guard is not zero.
template <class T>
inline void store_where(u8* at, u64 stride, const u64* from, const u64* guard, u32 count) {
  for (u32 i = 0; i < count; ++i) {
    const T value = static_cast<T>(from[i]);
    if (guard[i] != 0) __builtin_memcpy(at + static_cast<i64>(i * stride), &value, sizeof(T));
  }
}
inline void store_where(u32 size, u8* at, u64 stride, const u64* from, const u64* guard, u32 count) {
  switch (size) {
    case 1: return store_where<u8>(at, stride, from, guard, count);
    case 2: return store_where<u16>(at, stride, from, guard, count);
    case 4: return store_where<u32>(at, stride, from, guard, count);
    default: return store_where<u64>(at, stride, from, guard, count);
  }
}

template <class T>
inline void gather_column(u64 origin, const u64* addresses, u64* to, u32 count) {
  each_of(to, count, [&](u32 i) {
    T value;
    __builtin_memcpy(&value, reinterpret_cast<const u8*>(origin + addresses[i]), sizeof(T));
    return u64{value};
  });
}
inline void gather_column(u32 size, u64 origin, const u64* addresses, u64* to, u32 count) {
  switch (size) {
    case 1: return gather_column<u8>(origin, addresses, to, count);
    case 2: return gather_column<u16>(origin, addresses, to, count);
    case 4: return gather_column<u32>(origin, addresses, to, count);
    default: return gather_column<u64>(origin, addresses, to, count);
  }
}

// The first of `count` numbers at a that equals (or differs from) the one at b, or `value` where b is null; `count`:
// none.
template <class T>
inline u64 first_where(bool equals, const u8* a, const u8* b, u64 value, u64 count) {
  constexpr u64 kBlock = 64 / sizeof(T);
  const auto at = [](const u8* from, u64 i) {
    T number;
    __builtin_memcpy(&number, from + i * sizeof(T), sizeof(T));
    return number;
  };
  const T wanted = static_cast<T>(value);
  if (!b && wanted != value) return equals ? count : 0;
  const auto ends = [&](u64 i) { return (at(a, i) == (b ? at(b, i) : wanted)) == equals; };
  u64 i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    T any = 0;
    if (b) {
      for (u64 j = 0; j < kBlock; ++j) any |= static_cast<T>((at(a, i + j) == at(b, i + j)) == equals);
    } else {
      for (u64 j = 0; j < kBlock; ++j) any |= static_cast<T>((at(a, i + j) == wanted) == equals);
    }
    if (any) break;
  }
  while (i < count && !ends(i)) ++i;
  return i;
}
inline u64 first_where(u32 size, bool equals, const u8* a, const u8* b, u64 value, u64 count) {
  switch (size) {
    case 1: return first_where<u8>(equals, a, b, value, count);
    case 2: return first_where<u16>(equals, a, b, value, count);
    case 4: return first_where<u32>(equals, a, b, value, count);
    default: return first_where<u64>(equals, a, b, value, count);
  }
}

// The first iteration in which the condition does not hold; `count`: none.
inline u32 first_zero(const u64* column, u32 count) {
  constexpr u32 kBlock = 16;
  u32 i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    u64 all = 1;
    for (u32 j = 0; j < kBlock; ++j) all &= column[i + j];
    if (!all) break;
  }
  while (i < count && column[i] != 0) ++i;
  return i;
}

// The least or the greatest, of numbers with or without a sign.
inline u64 fold_extreme(bool is_signed, bool greatest, u32 width, u64 value, const u64* column, u32 count) {
  const u64 flip = (greatest ? ~u64{0} : 0) ^ (is_signed ? u64{1} << (width - 1) : 0);  // makes it the least of all
  const u64 mask = mask_of(width);
  u64 least = (value ^ flip) & mask;
  for (u32 i = 0; i < count; ++i) {
    const u64 one = (column[i] ^ flip) & mask;
    least = one < least ? one : least;
  }
  return (least ^ flip) & mask;
}

// op(value, column[0], ..., column[count - 1]) for an operation whose order does not matter.
inline u64 fold(Op op, u32 width, u64 value, const u64* column, u32 count) {
  switch (op) {
    case Op::kAdd:
      for (u32 i = 0; i < count; ++i) value += column[i];
      break;
    case Op::kSub:
      for (u32 i = 0; i < count; ++i) value -= column[i];
      break;
    case Op::kMul:
      for (u32 i = 0; i < count; ++i) value *= column[i];
      break;
    case Op::kAnd:
      for (u32 i = 0; i < count; ++i) value &= column[i];
      break;
    case Op::kOr:
      for (u32 i = 0; i < count; ++i) value |= column[i];
      break;
    default:
      for (u32 i = 0; i < count; ++i) value ^= column[i];
      break;
  }
  return value & mask_of(width);
}

}  // namespace kvrm::accelerate
