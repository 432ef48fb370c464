// A bulk step: rounds, whole ranges of memory, and closed forms.
#pragma once

#include "accelerate/freestanding/native_ranges.h"
#include "accelerate/freestanding/rounds.h"

namespace kvrm::accelerate {

// The most iterations up to so many of which the last one, which a round does, has every access in one page.
template <class Memory>
u64 Step<Memory>::ends_in_pages(u64 count) const {
  for (; count != 0; --count) {
    bool crosses = false;
    for (const Access& access : loop_.accesses) {
      if (!is_affine(access.address)) continue;
      const u64 address = values_[access.address] + steps_[access.address] * (count - 1);
      crosses |= address % memory::kPageSize + access.size > memory::kPageSize;
    }
    if (!crosses) break;
  }
  return count;
}

// Moves or fills whole ranges; a round must follow, so it leaves an iteration.
template <class Memory>
u64 Step<Memory>::whole_ranges(u64 most) {
  const u64 stride = steps_[loop_.accesses[0].address], width = static_cast<i64>(stride) < 0 ? 0 - stride : stride;
  u64 low_store = ~u64{0}, low_load = ~u64{0};
  for (const Access& access : loop_.accesses) {
    if (steps_[access.address] != stride) return 0;
    u64& low = access.is_store ? low_store : low_load;
    low = values_[access.address] < low ? values_[access.address] : low;
  }
  if (width == 0 || width > kMostBlock) return 0;
  u64 count = contiguous(low_store, stride, static_cast<u32>(width), true, most);
  if (loop_.bulk == Bulk::kCopy) count = contiguous(low_load, stride, static_cast<u32>(width), false, count);
  for (const Access& access : loop_.accesses)
    count = contiguous(values_[access.address], stride, access.size, access.is_store, count);
  count = ends_in_pages(count);
  if (count < 2 || without_dependences(1) == 0) return 0;
  --count;
  u64 covered = 0;
  for (const Access& access : loop_.accesses) {
    if (!access.is_store) continue;
    covered += access.size;
    if (values_[access.address] - low_store + access.size > width) return 0;
    if (loop_.bulk != Bulk::kCopy) continue;
    const Access& from = loop_.accesses[static_cast<u32>(loop_.nodes[access.value].value)];
    if (values_[access.address] - low_store != values_[from.address] - low_load) return 0;
  }
  if (covered != width || !stores_are_apart()) return 0;
  const u64 bytes = count * width;
  const u64 back = static_cast<i64>(stride) < 0 ? bytes - width : 0;
  u8* const to = memory_.writable(low_store) - back;
  if (loop_.bulk == Bulk::kCopy) {
    const u64 from = reinterpret_cast<u64>(memory_.readable(low_load)) - back, into = reinterpret_cast<u64>(to);
    const bool apart = !overlap(from, bytes, into, bytes);
    // In the guest's order, a load must not see a store of an earlier iteration.
    if (!apart && (static_cast<i64>(stride) < 0 ? into < from : into > from)) return 0;
    if (!apart && (into > from ? into - from : from - into) < width) return 0;
    __builtin_memmove(to, memory_.readable(low_load) - back, bytes);
  } else {
    u8 block[kMostBlock] = {};
    bool same = true;
    for (const Access& access : loop_.accesses) {
      const u64 value = values_[access.value];
      for (u32 i = 0; i < access.size; ++i)
        block[values_[access.address] - low_store + i] = static_cast<u8>(value >> (8 * i));
    }
    for (u64 i = 1; i < width; ++i) same &= block[i] == block[0];
    if (same) {
      __builtin_memset(to, block[0], bytes);
    } else {
      for (u64 at = 0; at < bytes; at += width) __builtin_memcpy(to + at, block, width);
    }
  }
  advance(count);
  return count;
}

// How many iterations from the next one on the condition holds for: a compare of what is loaded, from addresses side by
// side, with an invariant or with something else that is loaded so. The loads may be made.
template <class Memory>
u64 Step<Memory>::found_after(u16 condition, u64 most) {
  const Node& compare = loop_.nodes[condition];
  const auto source = [&](u16 number) {
    while (loop_.nodes[number].op == Op::kZeroExtend) number = loop_.nodes[number].a;
    const Node& node = loop_.nodes[number];
    const Access* access = node.op == Op::kLoad ? &loop_.accesses[static_cast<u32>(node.value)] : nullptr;
    return access && is_affine(access->address) && steps_[access->address] == access->size ? access : nullptr;
  };
  const bool ends_at_equal = compare.op == Op::kNotEqual;
  const Access* const a = source(compare.a);
  if (!a || (compare.op != Op::kEqual && !ends_at_equal)) return 0;
  const u8* const from = memory_.readable(values_[a->address]);
  if (loop_.shapes[compare.b] == Shape::kInvariant)
    return first_where(a->size, ends_at_equal, from, nullptr, values_[compare.b], most);
  const Access* const b = source(compare.b);
  if (!b || b->size != a->size) return 0;
  return first_where(a->size, ends_at_equal, from, memory_.readable(values_[b->address]), 0, most);
}

// Passes over whole ranges in which the scan does not end; a round must follow, so it leaves an iteration.
template <class Memory>
u64 Step<Memory>::scan_ranges(u64 most) {
  u64 count = most;
  for (const Access& access : loop_.accesses) {
    if (!is_affine(access.address)) return 0;
    count = contiguous(values_[access.address], steps_[access.address], access.size, false, count);
  }
  for (const u16 condition : loop_.data) {
    if (count < 2) return 0;
    count = found_after(condition, count);
  }
  count = ends_in_pages(count);
  if (count < 2) return 0;
  advance(count - 1);
  return count - 1;
}

template <class Memory>
u64 Step<Memory>::run(u64 most) {
  done_ = instructions_ = 0;
  if (!halves_are_zero()) return 0;
  set_up();
  most = trips(most);
  if (most == 0) return 0;
  for (u32 i = 0; i < loop_.carried.count; ++i) after_[i] = before_[i] = read_state(loop_.carried[i].input);
  bool has_rounds = loop_.accesses.count != 0 || loop_.body.count != 0 || loop_.length != kNoNode;
  for (const Carried& carried : loop_.carried)
    has_rounds |= carried.carry == Carry::kReduction || carried.carry == Carry::kLatch;
  if (!has_rounds) {
    advance(most);
  } else {
    u64 left = most;
    // A scan may end soon: its rounds grow.
    u64 size = loop_.data.count != 0 ? kFirstRound : kRound;
    while (left != 0) {
      u64 passed = 0;
      if (left > kWholeRanges && loop_.native)
        passed = native_ranges(left);
      else if (left > kWholeRanges && loop_.bulk != Bulk::kNone)
        passed = loop_.bulk == Bulk::kScan ? scan_ranges(left) : whole_ranges(left);
      left -= passed;
      const u64 most_now = passed != 0 ? 1 : size;
      const u32 count = round(left < most_now ? left : most_now);
      if (count == 0) break;
      left -= count;
      if (count == size && size < kRound) size *= kGrowth;
    }
  }
  if (done_ != 0) finish();
  return done_;
}

}  // namespace kvrm::accelerate
