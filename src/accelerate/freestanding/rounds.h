// A bulk step: whole iterations of a proven loop, as many as nothing unusual happens in. Parameterized by memory:
//
//   u8* readable(u64 address), u8* writable(u64 address)   the byte on the host, if a load or a store of its page does
//                                                          nothing but access it; else null
//   bool prepare(u64 address, bool is_store)               does for the page what the access would do first
//
// A round computes columns for its iterations: its loads come before its stores. If a load would see a store of the
// same round, the round ends before it.
#pragma once

#include "accelerate/freestanding/columns.h"
#include "accelerate/freestanding/step_values.h"
#include "memory/freestanding/page.h"

namespace kvrm::accelerate {

// Numbers of scratch space a step needs.
constexpr u64 scratch_size(u64 nodes, u64 columns, u64 carried) {
  return StepValues<Cpu>::size(nodes, carried) + columns * kRound;
}

template <class Memory>
class Step : StepValues<Cpu> {
 public:
  Step(const LoopProgram& loop, Cpu& cpu, Memory& memory, u64* scratch)
      : StepValues(loop, cpu, scratch),
        memory_(memory),
        columns_(scratch + StepValues::size(loop.nodes.count, loop.carried.count)) {}

  // Does at most so many iterations; returns how many it did. The state is what they leave.
  u64 run(u64 most);
  // Instructions of the iterations that run() did.
  u64 instructions() const { return loop_.length == kNoNode ? done_ * loop_.words : instructions_; }
  // How many iterations the loop's affine conditions allow, at most `most`.
  u64 trips(u64 most);

 private:
  static constexpr u64 kFirstRound = 32, kGrowth = 4;
  static constexpr u64 kMostBlock = 64;  // bytes of an iteration
  static constexpr u32 kMostNative = 64;  // accesses, or carried parts
  static constexpr u64 kMostIterations = u64{1} << 20;

  void set_up();
  void advance(u64 count);
  u64 column_value(u16 node, u32 i) const { return loop_.column_of[node] == kNoNode ? values_[node] : column(node)[i]; }
  u64* column(u16 node) const { return columns_ + u64{loop_.column_of[node]} * kRound; }
  u32 round(u64 most);
  bool prepare_first();
  u32 granted(const Access& access, u32 count);
  // In the next iteration; the page is in the TLB.
  u64 host_address(const Access& access) const {
    const u64 address = values_[access.address];
    return reinterpret_cast<u64>(access.is_store ? memory_.writable(address) : memory_.readable(address));
  }
  u64 one_page(const Access& access, u32 count) const;
  bool happens(const Access& access, u32 i) const { return access.guard == kNoNode || column(access.guard)[i] != 0; }
  bool halves_are_zero() const;
  void latch(u32 carried, u32 count);
  u64 value_in(u16 node, u32 i) const;
  u32 gather(const Access& access, u32 count);
  u64 contiguous(u64 address, u64 stride, u32 size, bool is_store, u64 count);
  u64 ends_in_pages(u64 count) const;
  u32 without_dependences(u32 count) const;
  u32 until_overlap(const Access& load, const Access& store, bool load_is_later, u32 count) const;
  void operand_columns(u32 count);
  u32 compute(u32 count);
  void keep_last(u32 count);
  void store(u32 count);
  bool stores_are_apart() const;
  u64 whole_ranges(u64 most);
  u64 native_ranges(u64 most);
  bool are_independent(u8* const* at, u64 count) const;
  u64 tables_within(u8** at, u64 count);
  u64 found_after(u16 condition, u64 most);
  u64 scan_ranges(u64 most);
  void finish();

  Memory& memory_;
  u64* const columns_;
  u64 instructions_ = 0;
  u32 filled_ = 0;  // rows of the columns of invariants
};

// Values in the next iteration, and what they change by from one to the next.
template <class Memory>
void Step<Memory>::set_up() {
  for (const u16 number : loop_.setup) set_value(number);
  for (const Carried& carried : loop_.carried) set_carried_step(carried);
  for (const u16 number : loop_.setup) set_step(number);
}

template <class Memory>
u64 Step<Memory>::trips(u64 most) {
  for (const Test& test : loop_.tests) {
    const u64 count = trips_of_test(test);
    most = count < most ? count : most;
  }
  for (const u16 number : loop_.no_wrap) {
    const u64 count = trips_without_wrap(number);
    most = count < most ? count : most;
  }
  for (const u16 number : loop_.aligned) {
    const Node& node = loop_.nodes[number];
    if ((steps_[node.a] & ~loop_.nodes[node.b].value & mask_of(node.width)) != 0 && most > 1) most = 1;
  }
  return most;
}

template <class Memory>
bool Step<Memory>::halves_are_zero() const {
  u64 all = 0;
  for (const u16 input : loop_.narrow) all |= read_state(input);
  return all <= mask_of(32);
}

template <class Memory>
void Step<Memory>::advance(u64 count) {
  for (const u16 number : loop_.setup) advance_value(number, count);
  done_ += count;
}

// The first iteration is certain to make the accesses before the first condition that depends on loaded values, unless
// one before them faults.
template <class Memory>
bool Step<Memory>::prepare_first() {
  bool is_certain = true;
  for (const Access& access : loop_.accesses) {
    is_certain &= access.conditions_before == 0;
    if (!is_affine(access.address)) {
      is_certain = false;
      continue;
    }
    const u64 address = values_[access.address];
    if (address % memory::kPageSize + access.size > memory::kPageSize) return false;
    const u8* there = access.is_store ? memory_.writable(address) : memory_.readable(address);
    if (there) continue;
    if (!is_certain || access.guard != kNoNode || !memory_.prepare(address, access.is_store)) return false;
  }
  return true;
}

// In how many iterations from the next one on an access lies in pages that are side by side on the host.
template <class Memory>
u64 Step<Memory>::contiguous(u64 address, u64 stride, u32 size, bool is_store, u64 count) {
  constexpr u64 kPage = memory::kPageSize;
  const auto host = [&](u64 at) { return is_store ? memory_.writable(at) : memory_.readable(at); };
  const u8* const first = host(address);
  if (!first || address % kPage + size > kPage) return 0;
  if (stride == 0) return count;
  const bool falls = static_cast<i64>(stride) < 0;
  const u64 by = falls ? 0 - stride : stride;
  if (by > kPage) return 1;
  u64 page = address & ~(kPage - 1);
  u64 room = falls ? address - page : page + kPage - address - size;  // that `by` may use up
  while (room / by + 1 < count) {
    page = falls ? page - kPage : page + kPage;
    const u8* there = host(page);
    if (!there || there - first != static_cast<i64>(page - address)) break;
    room += kPage;
  }
  const u64 found = room / by + 1;
  return found < count ? found : count;
}

template <class Memory>
u32 Step<Memory>::granted(const Access& access, u32 count) {
  return static_cast<u32>(
      contiguous(values_[access.address], steps_[access.address], access.size, access.is_store, count));
}

// The lowest and the highest of the addresses in a column.
struct AddressRange {
  u64 low, high;
};
inline AddressRange range_of(const u64* addresses, u32 count) {
  AddressRange range{addresses[0], addresses[0]};
  for (u32 i = 1; i < count; ++i) {
    range.low = addresses[i] < range.low ? addresses[i] : range.low;
    range.high = addresses[i] > range.high ? addresses[i] : range.high;
  }
  return range;
}

// What is added to the addresses of these loads, if all are in one readable page; else 0.
template <class Memory>
u64 Step<Memory>::one_page(const Access& access, u32 count) const {
  const AddressRange range = range_of(column(access.address), count);
  if (range.low / memory::kPageSize != range.high / memory::kPageSize ||
      range.high % memory::kPageSize + access.size > memory::kPageSize)
    return 0;
  const u8* const low = memory_.readable(range.low);
  return low ? reinterpret_cast<u64>(low) - range.low : 0;
}

// Loads at computed addresses; returns in how many iterations they are in readable pages.
template <class Memory>
u32 Step<Memory>::gather(const Access& access, u32 count) {
  const u64* const addresses = column(access.address);
  u64* const to = column(access.value);
  const u64 origin = access.guard == kNoNode ? one_page(access, count) : 0;
  if (origin != 0) {
    gather_column(access.size, origin, addresses, to, count);
    return count;
  }
  for (u32 i = 0; i < count; ++i) {
    to[i] = 0;
    if (!happens(access, i)) continue;
    const bool crosses = addresses[i] % memory::kPageSize + access.size > memory::kPageSize;
    const u8* const from = crosses ? nullptr : memory_.readable(addresses[i]);
    if (!from) return i;
    load_stream(access.size, from, 0, to + i, 1);
  }
  return count;
}

// Whether ranges [a, a + size_a) and [b, b + size_b) share a byte.
constexpr bool overlap(u64 a, u64 size_a, u64 b, u64 size_b) { return a - b < size_b || b - a < size_a; }

// A load of iteration j must not see a store of an iteration i < j of the round, nor one before it in its own. Compares
// addresses of the host, which are side by side where the guest's are: two addresses of the guest may mean one frame.
template <class Memory>
u32 Step<Memory>::until_overlap(const Access& load, const Access& store, bool load_is_later, u32 count) const {
  const u64 stride = steps_[store.address], to = host_address(store);
  const bool has_range = is_affine(load.address);
  const u64 from = has_range ? host_address(load) : 0;
  if (has_range && steps_[load.address] == stride) {
    const u64 way = stride * (count - 1);
    const bool down = static_cast<i64>(stride) < 0;
    if (!overlap(down ? from + way : from, (down ? 0 - way : way) + load.size, to, store.size)) return count;
    for (u32 apart = load_is_later ? 0 : 1; apart < count; ++apart) {
      if (overlap(from + stride * apart, load.size, to, store.size)) return apart;
    }
    return count;
  }
  // The whole ranges, a load at computed addresses address by address.
  const u64 span = stride * (count - 1);
  const bool falls = static_cast<i64>(stride) < 0;
  const u64 low = falls ? to + span : to, size = (falls ? 0 - span : span) + store.size;
  if (!has_range) {
    const u64* const addresses = column(load.address);
    const AddressRange range = range_of(addresses, count);
    const u64 origin = load.guard == kNoNode ? one_page(load, count) : 0;
    if (origin && !overlap(range.low + origin, range.high - range.low + load.size, low, size)) return count;
    for (u32 i = 0; i < count; ++i) {
      if (!happens(load, i)) continue;
      if (overlap(reinterpret_cast<u64>(memory_.readable(addresses[i])), load.size, low, size)) return 0;
    }
    return count;
  }
  const u64 load_span = steps_[load.address] * (count - 1);
  const bool load_falls = static_cast<i64>(steps_[load.address]) < 0;
  const u64 load_low = load_falls ? from + load_span : from;
  return overlap(load_low, (load_falls ? 0 - load_span : load_span) + load.size, low, size) ? 0 : count;
}

template <class Memory>
u32 Step<Memory>::without_dependences(u32 count) const {
  for (u32 s = 0; s < loop_.accesses.count; ++s) {
    if (!loop_.accesses[s].is_store) continue;
    for (u32 l = 0; l < loop_.accesses.count && count != 0; ++l) {
      if (!loop_.accesses[l].is_store) count = until_overlap(loop_.accesses[l], loop_.accesses[s], l > s, count);
    }
  }
  return count;
}

// Columns of what is known without computing, where operations need them.
template <class Memory>
void Step<Memory>::operand_columns(u32 count) {
  const u32 filled = filled_;
  filled_ = count > filled ? count : filled;
  for (const u16 number : loop_.setup) {
    if (loop_.column_of[number] == kNoNode) continue;
    if (loop_.shapes[number] == Shape::kInvariant && count <= filled) continue;
    const u64 value = values_[number], step = steps_[number], mask = mask_of(loop_.nodes[number].width);
    each_of(column(number), count, [&](u32 i) { return (value + step * i) & mask; });
  }
}

// Computes the round's columns; returns for how many iterations they hold.
template <class Memory>
u32 Step<Memory>::compute(u32 count) {
  operand_columns(count);
  for (const u16 number : loop_.body) {
    if (count == 0) return 0;
    const Node& node = loop_.nodes[number];
    if (node.op == Op::kInput) {  // what the iteration before computed
      for (u32 i = 0; i < loop_.carried.count; ++i) {
        if (loop_.carried[i].input != number) continue;
        column(number)[0] = after_[i];
        const u64* from = column(loop_.carried[i].term);
        for (u32 j = 1; j < count; ++j) column(number)[j] = from[j - 1];
      }
    } else if (node.op == Op::kLoad) {
      const Access& access = loop_.accesses[static_cast<u32>(node.value)];
      if (!is_affine(access.address)) {
        count = gather(access, count);
      } else {
        const u8* const from = memory_.readable(values_[access.address]);
        load_stream(access.size, from, steps_[access.address], column(number), count);
      }
    } else {
      const u32 operands = operand_count(node.op);
      const u64* const a = column(node.a);
      if (a == column(number)) continue;  // an extension, which changes no value
      compute_column(node, loop_.nodes[node.a].width, column(number), a, operands > 1 ? column(node.b) : a,
                     operands > 2 ? column(node.c) : a, count);
    }
  }
  for (const u16 condition : loop_.data) count = first_zero(column(condition), count);
  return count;
}

template <class Memory>
void Step<Memory>::keep_last(u32 count) {
  for (u32 i = 0; i < loop_.carried.count; ++i) {  // while after_ is what it was before the round
    if (loop_.carried[i].carry == Carry::kLatch) latch(i, count);
  }
  for (u32 i = 0; i < loop_.carried.count; ++i) {
    const Carried& carried = loop_.carried[i];
    if (carried.carry == Carry::kReduction) {
      const auto folded = [&](u64 value, u32 first, u32 end) {
        const u64* terms = column(carried.term) + first;
        if (!is_compare(carried.op)) return fold(carried.op, carried.width, value, terms, end - first);
        return fold_extreme(carried.op == Op::kLessSigned, carried.subtracts, carried.width, value, terms, end - first);
      };
      before_[i] = after_[i];  // of which more than `width` bits count before the first iteration
      if (count > 1) before_[i] = folded(before_[i], 0, count - 1);
      after_[i] = folded(before_[i], count - 1, count);
    } else if (carried.carry == Carry::kPrevious) {
      before_[i] = count > 1 ? column(carried.term)[count - 2] : after_[i];
      after_[i] = column(carried.term)[count - 1];
    }
  }
  if (loop_.length != kNoNode) instructions_ += fold(Op::kAdd, 64, 0, column(loop_.length), count);
  for (const u16 number : loop_.body) last_[number] = column(number)[count - 1];
}

// A node in iteration i of the round; last_ has its operands.
template <class Memory>
u64 Step<Memory>::value_in(u16 number, u32 i) const {
  const Node& node = loop_.nodes[number];
  if (is_affine(number)) return (values_[number] + steps_[number] * i) & mask_of(node.width);
  if (loop_.column_of[number] != kNoNode && loop_.shapes[number] == Shape::kVarying) return column(number)[i];
  if (node.op == Op::kInput) {
    for (u32 part = 0; part < loop_.carried.count; ++part) {
      const Carried& carried = loop_.carried[part];
      if (carried.input != number || carried.carry != Carry::kPrevious) continue;
      return i == 0 ? after_[part] : column(carried.term)[i - 1];
    }
    return 0;  // what a latch does not depend on
  }
  return evaluate(node.op, node.width, loop_.nodes[node.a].width, last_[node.a], last_[node.b], last_[node.c]);
}

// What a latch is before and after the round's last iteration: its term where its condition held last.
template <class Memory>
void Step<Memory>::latch(u32 part, u32 count) {
  const Carried& carried = loop_.carried[part];
  const u64* const holds = column(carried.condition);
  const auto value_up_to = [&](u32 end, u64 otherwise) {
    while (end != 0 && (holds[end - 1] != 0) == carried.subtracts) --end;
    if (end == 0) return otherwise;
    for (const u16 number : loop_.finals) {
      last_[number] = value_in(number, end - 1);
      if (number == carried.term) break;
    }
    return last_[carried.term];
  };
  const u64 at_first = after_[part];
  before_[part] = value_up_to(count - 1, at_first);
  after_[part] = value_up_to(count, at_first);
}

// Whether no two stores of any iterations overlap: then their order does not matter.
template <class Memory>
bool Step<Memory>::stores_are_apart() const {
  for (u32 i = 0; i < loop_.accesses.count; ++i) {
    const Access& one = loop_.accesses[i];
    if (!one.is_store) continue;
    const u64 stride = steps_[one.address];
    const u64 size = static_cast<i64>(stride) < 0 ? 0 - stride : stride;
    for (u32 j = i + 1; j < loop_.accesses.count; ++j) {
      const Access& other = loop_.accesses[j];
      if (!other.is_store) continue;
      if (steps_[other.address] != stride || size == 0) return false;
      const u64 apart = host_address(other) - host_address(one);
      const u64 within = static_cast<i64>(apart) < 0 ? (size - (0 - apart) % size) % size : apart % size;
      if (within < one.size || size - within < other.size) return false;
    }
  }
  return true;
}

template <class Memory>
void Step<Memory>::store(u32 count) {
  const bool apart = stores_are_apart();
  for (u32 first = 0; first < count; first += apart ? count : 1) {
    for (const Access& access : loop_.accesses) {
      if (!access.is_store) continue;
      const u64 stride = steps_[access.address];
      u8* const at = memory_.writable(values_[access.address] + stride * first);
      const u32 each = apart ? count : 1;
      if (access.guard == kNoNode) {
        store_stream(access.size, at, stride, column(access.value) + first, each);
      } else {
        store_where(access.size, at, stride, column(access.value) + first, column(access.guard) + first, each);
      }
    }
  }
}

template <class Memory>
u32 Step<Memory>::round(u64 most) {
  u32 count = most < kRound ? static_cast<u32>(most) : kRound;
  if (!prepare_first()) return 0;
  for (const Access& access : loop_.accesses) {
    if (is_affine(access.address)) count = granted(access, count);
    if (count == 0) return 0;
  }
  count = compute(count);
  if (count != 0) count = without_dependences(count);
  if (count == 0) return 0;
  keep_last(count);
  store(count);
  advance(count);
  return count;
}

// The state after the last iteration. values_ are those of the iteration after it.
template <class Memory>
void Step<Memory>::finish() {
  LinearSpace space;
  linear_before(done_ - 1, space);
  for (const u16 number : loop_.finals) last_[number] = final_value(number);
  for (const Output& output : loop_.outputs) write_state(output, last_[output.node]);
}

}  // namespace kvrm::accelerate
