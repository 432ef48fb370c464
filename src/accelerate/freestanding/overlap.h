// Whether accesses of several iterations meet, without a look at each of them. Distances and strides are those of a
// round, whose addresses lie within 1 << 30 bytes.
#pragma once

#include "base/types.h"

namespace kvrm::accelerate {

// Where a load and a store have the same stride: in how many iterations after a store's the load first meets it, at
// least `first`; `count`: in none of them before. `apart`: the store's address less the load's.
constexpr u32 meets_after(i64 apart, i64 stride, u32 load_size, u32 store_size, u32 first, u32 count) {
  // They meet where apart - load_size < stride * i < apart + store_size.
  i64 low = apart - load_size, high = apart + store_size;
  if (stride < 0) {
    const i64 turned = 0 - low;
    low = 0 - high;
    high = turned;
    stride = 0 - stride;
  }
  if (high <= 0 || first >= count) return count;
  if (stride == 0) return low < 0 ? first : count;
  const i64 most = stride * (count - 1);
  if (low >= most) return count;
  u32 i = low < 0 ? 0 : static_cast<u32>(low) / static_cast<u32>(stride) + 1;
  i = i > first ? i : first;
  return i < count && stride * i < high ? i : count;
}

// Whether two accesses of the same stride never meet, in whatever iterations each of them is.
constexpr bool never_meet(i64 apart, i64 stride, u32 size, u32 other_size, u32 count) {
  const i64 step = stride < 0 ? 0 - stride : stride, span = step * (count - 1);
  // `apart`: the other one's address less this one's.
  if (apart >= span + size || 0 - apart >= span + other_size) return true;
  if (span == 0) return false;
  const u32 by = static_cast<u32>(step);
  const u32 within = apart >= 0 ? static_cast<u32>(apart) % by : (by - static_cast<u32>(0 - apart) % by) % by;
  return within >= size && by - within >= other_size;
}

}  // namespace kvrm::accelerate
