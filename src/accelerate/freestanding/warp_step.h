// A bulk step by the 32 threads of a warp: as Step (rounds.h), with the iterations of a round side by side. All threads
// call run() together. Freestanding.
//
// A round has up to kWarpRound iterations whose pages have been checked, in which no load sees a store of another
// iteration. It is done in blocks of kWarpBlock: a thread computes iterations me, me + 32, ... of a block, node after
// node, each into a column. All loads of a block come before its stores.
//
// Threads brings the operations of the warp: me(), sync(), any(bool), least(u32), least(u64), shuffle(u64, from). What
// a thread writes others read only after one of these.
#pragma once

#include "accelerate/freestanding/overlap.h"
#include "accelerate/freestanding/warp_loop.h"
#include "accelerate/freestanding/warp_memory.h"

namespace kvrm::accelerate {

template <class Threads>
class WarpStep : StepValues<Cpu> {
 public:
  // `fast` has room for so many numbers, `slow` for kWarpScratchWords.
  KVRM_INLINE WarpStep(const WarpLoop& loop, Cpu& cpu, const WarpMemory& memory, const Threads& threads, u64* fast,
                       u32 fast_words, u64* slow)
      : StepValues(loop.program, cpu, loop.state_words <= fast_words ? fast : slow),
        warp_loop_(loop),
        memory_(memory),
        threads_(threads),
        me_(threads.me()),
        hosts_(after_ + loop.program.carried.count),
        partials_(hosts_ + kWarpAccesses),
        linear_(partials_ + u32{loop.reduction_count} * kWarpThreads),
        near_columns_(loop.state_words <= fast_words ? fast + loop.state_words : fast),
        far_columns_(slow + kWarpStateWords),
        near_count_((loop.state_words <= fast_words ? fast_words - loop.state_words : fast_words) / kWarpBlock) {}

  // Does at most so many iterations; returns how many it did. The state is what they leave.
  u64 run(u64 most);

 private:
  static constexpr u32 kHalf = 4;  // iterations that a thread computes at a time
  using Some = u64[kHalf];

  void set_up();
  u64 trips(u64 most);
  void advance(u64 count);
  u32 round(u64 most);
  bool prepare_first();
  bool find_first(u64& host) const;
  u32 contiguous(const Access& access, u64 first, u32 count) const;
  u32 without_dependences(u32 count) const;
  u32 compute(u32 base, u32 n, u32 round_count);
  void compute_previous(u16 number, u32 n);
  u32 load(const Access& access, u32 base, u32 n, u32 round_count);
  u32 gather(const Access& access, u32 base, u32 n, u32 round_count, u64* to);
  bool is_stored_to(u64 host, u32 size, u32 round_count) const;
  void compute_node(u16 number, u32 base, u32 n);
  void fold(u32 base, u32 n, bool is_last);
  void keep_last(u32 base, u32 n, u32 since);
  void store(u32 base, u32 n);
  void finish();

  const Access& access(u32 number) const { return loop_.accesses[number]; }
  u64* column(u16 node) const {
    const u32 number = warp_loop_.columns[node];
    return number < near_count_ ? near_columns_ + number * kWarpBlock
                                : far_columns_ + (number - near_count_) * kWarpBlock;
  }
  bool has_column(u16 node) const { return warp_loop_.columns[node] != kNoNode; }
  // A node in iteration i of the block that begins `base` iterations after values_.
  u64 value_at(u16 node, u32 base, u32 i) const {
    if (has_column(node)) return column(node)[i];
    return (values_[node] + steps_[node] * (base + i)) & mask_of(loop_.nodes[node].width);
  }
  KVRM_INLINE void fetch(u16 node, u32 base, u32 first, Some& to) const;

  const WarpLoop& warp_loop_;
  WarpMemory memory_;
  const Threads& threads_;
  const u32 me_;
  u64* const hosts_;  // of accesses at affine addresses: where the next iteration's is on the device
  u64* const partials_;  // of reductions, one for each thread
  u64* const linear_;
  u64 *const near_columns_, *const far_columns_;
  const u32 near_count_;
  bool ended_ = false;  // an iteration was met that may not be done
};

// --- before and after the rounds -----------------------------------------------------------------------------------

// Level by level: what nodes of one depend on is known. What affine parts change by is known after the first one, or
// else steps follow values. Vector registers are the first thread's alone.
template <class Threads>
void WarpStep<Threads>::set_up() {
  const auto is_others = [&](u16 input) {
    return warp_loop_.has_vectors && loop_.nodes[input].op == Op::kInput && is_vector_part(loop_.nodes[input].value);
  };
  const auto each_of = [&](u32 level, auto work) {
    const u32 from = level == 0 ? 0 : warp_loop_.setup_levels[level - 1];
    for (u32 i = from + me_; i < warp_loop_.setup_levels[level]; i += kWarpThreads) work(loop_.setup[i]);
    threads_.sync();
  };
  const auto carry = [&] {
    for (u32 i = me_; i < loop_.carried.count; i += kWarpThreads) set_carried_step(loop_.carried[i]);
    threads_.sync();
  };
  const u32 levels = warp_loop_.setup_levels.count;
  for (u32 i = me_; i < loop_.carried.count; i += kWarpThreads) {
    if (!is_others(loop_.carried[i].input)) after_[i] = before_[i] = read_state(loop_.carried[i].input);
  }
  if (warp_loop_.has_vectors && me_ == 0) {
    for (u32 i = 0; levels != 0 && i < warp_loop_.setup_levels[0]; ++i) {
      if (is_others(loop_.setup[i])) set_value(loop_.setup[i]);
    }
    for (u32 i = 0; i < loop_.carried.count; ++i) {
      if (is_others(loop_.carried[i].input)) after_[i] = before_[i] = read_state(loop_.carried[i].input);
    }
  }
  for (u32 level = 0; level < levels; ++level) {
    each_of(level, [&](u16 number) {
      if (level == 0 && is_others(number)) return;
      set_value(number);
      if (level != 0 && warp_loop_.has_early_steps) set_step(number);
    });
    if (level == 0 && warp_loop_.has_early_steps) carry();
  }
  if (warp_loop_.has_early_steps) return;
  carry();
  for (u32 level = 1; level < levels; ++level) each_of(level, [&](u16 number) { set_step(number); });
}

template <class Threads>
u64 WarpStep<Threads>::trips(u64 most) {
  for (u32 i = me_; i < loop_.tests.count; i += kWarpThreads) {
    const u64 count = trips_of_test(loop_.tests[i]);
    most = count < most ? count : most;
  }
  for (u32 i = me_; i < loop_.no_wrap.count; i += kWarpThreads) {
    const u64 count = trips_without_wrap(loop_.no_wrap[i]);
    most = count < most ? count : most;
  }
  return threads_.least(most);
}

template <class Threads>
void WarpStep<Threads>::advance(u64 count) {
  threads_.sync();
  for (u32 i = me_; i < loop_.setup.count; i += kWarpThreads) advance_value(loop_.setup[i], count);
  done_ += count;
  threads_.sync();
}

template <class Threads>
void WarpStep<Threads>::finish() {
  if (warp_loop_.has_linear) {
    if (me_ == 0) linear_before(done_ - 1, *reinterpret_cast<LinearSpace*>(linear_));
    threads_.sync();
  }
  for (u32 level = 0, from = 0; level < warp_loop_.final_levels.count; ++level) {
    const u32 end = warp_loop_.final_levels[level];
    for (u32 i = from + me_; i < end; i += kWarpThreads) last_[loop_.finals[i]] = final_value(loop_.finals[i]);
    from = end;
    threads_.sync();
  }
  for (u32 i = me_; i < loop_.outputs.count; i += kWarpThreads) {
    const Output& output = loop_.outputs[i];
    if (!is_vector_part(output.offset)) write_state(output, last_[output.node]);
  }
  if (me_ == 0) {
    for (const Output& output : loop_.outputs) {
      if (is_vector_part(output.offset)) write_state(output, last_[output.node]);
    }
  }
  threads_.sync();
}

// --- pages ---------------------------------------------------------------------------------------------------------

// The thread's own access in the next iteration: false if it is not one for bulk steps now.
template <class Threads>
bool WarpStep<Threads>::find_first(u64& host) const {
  host = 0;
  if (me_ >= loop_.accesses.count || !is_affine(access(me_).address)) return true;
  const u64 address = values_[access(me_).address];
  if (address % memory::kPageSize + access(me_).size > memory::kPageSize) return false;
  host = memory_.find(address, access(me_).is_store);
  return host != 0;
}

// The first iteration is certain to make the accesses before the first condition that depends on loaded values, unless
// one before them faults. By one thread.
template <class Threads>
bool WarpStep<Threads>::prepare_first() {
  bool is_certain = true;
  for (const Access& one : loop_.accesses) {
    is_certain &= one.conditions_before == 0;
    if (!is_affine(one.address)) {
      is_certain = false;
      continue;
    }
    const u64 address = values_[one.address];
    if (address % memory::kPageSize + one.size > memory::kPageSize) return false;
    if (memory_.find(address, one.is_store) != 0) continue;
    if (!is_certain || !memory_.prepare(address, one.is_store)) return false;
  }
  return true;
}

// In how many iterations from the next one on an access lies in pages that are side by side on the device.
template <class Threads>
u32 WarpStep<Threads>::contiguous(const Access& one, u64 first, u32 count) const {
  constexpr u32 kPage = static_cast<u32>(memory::kPageSize);
  const u64 address = values_[one.address], stride = steps_[one.address];
  if (stride == 0) return count;
  const bool falls = static_cast<i64>(stride) < 0;
  const u64 size = falls ? 0 - stride : stride;
  if (size > kPage) return 1;
  const u32 by = static_cast<u32>(size), needed = by * (count - 1);
  u64 page = address & ~(memory::kPageSize - 1);
  u32 room = static_cast<u32>(falls ? address - page : page + kPage - address - one.size);  // that `by` may use up
  while (room < needed) {
    page = falls ? page - kPage : page + kPage;
    const u64 there = memory_.find(page, one.is_store);
    if (there == 0 || there - first != page - address) return room / by + 1;
    room += kPage;
  }
  return count;
}

// Each thread looks at its own access. A load of an iteration must not see a store of an earlier one of the round, nor
// one before it in its own; and stores must not meet, as their order is not kept.
template <class Threads>
u32 WarpStep<Threads>::without_dependences(u32 count) const {
  if (me_ >= loop_.accesses.count || !is_affine(access(me_).address)) return count;
  const Access& mine = access(me_);
  const i64 stride = static_cast<i64>(steps_[mine.address]), span = stride * (count - 1);
  const u64 low = hosts_[me_] + static_cast<u64>(span < 0 ? span : 0);
  const u64 bytes = static_cast<u64>(span < 0 ? 0 - span : span) + mine.size;
  if (mine.is_store && count > 1 && (stride < 0 ? 0 - stride : stride) < mine.size) return 0;
  for (u32 s = 0; s < loop_.accesses.count; ++s) {
    const Access& other = access(s);
    if (!other.is_store || s == me_) continue;
    const i64 other_stride = static_cast<i64>(steps_[other.address]);
    const i64 apart = static_cast<i64>(hosts_[s] - hosts_[me_]);
    if (other_stride == stride) {
      if (!mine.is_store) {
        count = meets_after(apart, stride, mine.size, other.size, me_ > s ? 0 : 1, count);
      } else if (!never_meet(apart, stride, mine.size, other.size, count)) {
        return 0;
      }
      if (count == 0) return 0;
      continue;
    }
    const i64 other_span = other_stride * (count - 1);
    const u64 other_low = hosts_[s] + static_cast<u64>(other_span < 0 ? other_span : 0);
    const u64 other_bytes = static_cast<u64>(other_span < 0 ? 0 - other_span : other_span) + other.size;
    if (low - other_low < other_bytes || other_low - low < bytes) return 0;
  }
  return count;
}

// --- blocks --------------------------------------------------------------------------------------------------------

template <class Threads>
KVRM_INLINE void WarpStep<Threads>::fetch(u16 node, u32 base, u32 first, Some& to) const {
  if (has_column(node)) {
    const u64* const from = column(node) + first + me_;
#pragma GCC unroll 4
    for (u32 k = 0; k < kHalf; ++k) to[k] = from[k * kWarpThreads];
    return;
  }
  const u64 step = steps_[node], mask = mask_of(loop_.nodes[node].width);
  const u64 value = values_[node] + step * (base + first + me_);
#pragma GCC unroll 4
  for (u32 k = 0; k < kHalf; ++k) to[k] = (value + step * (k * kWarpThreads)) & mask;
}

// One operation in so many iterations.
template <class Numbers>
KVRM_INLINE void evaluate_some(const Node& node, u32 from, const Numbers& a, const Numbers& b, const Numbers& c,
                               Numbers& to) {
  constexpr u32 kCount = sizeof(Numbers) / sizeof(u64);
  switch (node.op) {
#define KVRM_OPERATION(op)                                                                                             \
  case op:                                                                                                             \
    _Pragma("GCC unroll 4") for (u32 k = 0; k < kCount; ++k) to[k] = evaluate(op, node.width, from, a[k], b[k], c[k]); \
    return;
    KVRM_OPERATION(Op::kAdd)
    KVRM_OPERATION(Op::kSub)
    KVRM_OPERATION(Op::kMul)
    KVRM_OPERATION(Op::kAnd)
    KVRM_OPERATION(Op::kOr)
    KVRM_OPERATION(Op::kXor)
    KVRM_OPERATION(Op::kShiftLeft)
    KVRM_OPERATION(Op::kShiftRight)
    KVRM_OPERATION(Op::kShiftRightSigned)
    KVRM_OPERATION(Op::kSelect)
    KVRM_OPERATION(Op::kZeroExtend)
    KVRM_OPERATION(Op::kSignExtend)
    KVRM_OPERATION(Op::kTruncate)
    KVRM_OPERATION(Op::kEqual)
    KVRM_OPERATION(Op::kNotEqual)
    KVRM_OPERATION(Op::kLess)
    KVRM_OPERATION(Op::kLessEqual)
    KVRM_OPERATION(Op::kLessSigned)
    KVRM_OPERATION(Op::kLessEqualSigned)
#undef KVRM_OPERATION
    default: return;
  }
}

template <class Threads>
void WarpStep<Threads>::compute_node(u16 number, u32 base, u32 n) {
  const Node& node = loop_.nodes[number];
  if (node.op == Op::kZeroExtend && warp_loop_.columns[node.a] == warp_loop_.columns[number]) return;
  const u32 operands = operand_count(node.op), from = loop_.nodes[node.a].width;
  u64* const to = column(number) + me_;
  for (u32 first = 0; first < n; first += kHalf * kWarpThreads) {
    Some a, b = {}, c = {}, result = {};
    fetch(node.a, base, first, a);
    if (operands > 1) fetch(node.b, base, first, b);
    if (operands > 2) fetch(node.c, base, first, c);
    evaluate_some(node, from, a, b, c, result);
#pragma GCC unroll 4
    for (u32 k = 0; k < kHalf; ++k) to[first + k * kWarpThreads] = result[k];
  }
}

// What the iteration before computed: another thread's.
template <class Threads>
void WarpStep<Threads>::compute_previous(u16 number, u32 n) {
  threads_.sync();
  for (u32 c = 0; c < loop_.carried.count; ++c) {
    if (loop_.carried[c].input != number) continue;
    u64* const to = column(number);
    const u64* const from = column(loop_.carried[c].term);
    for (u32 i = me_; i < n; i += kWarpThreads) to[i] = i == 0 ? after_[c] : from[i - 1];
  }
}

template <class T>
KVRM_INLINE void load_some(u64 at, u64 stride, u32 me, u32 n, u64* to) {
  u64 values[kWarpParts];
#pragma GCC unroll 8
  for (u32 k = 0; k < kWarpParts; ++k) {
    const u32 i = k * kWarpThreads + me;  // those after the last one load the same
    values[k] = memory::load_global<T>(reinterpret_cast<const u8*>(at + stride * (i < n ? i : n - 1)));
  }
#pragma GCC unroll 8
  for (u32 k = 0; k < kWarpParts; ++k) to[k * kWarpThreads + me] = values[k];
}

// Gives in how many iterations of the block the thread's own loads may be made.
template <class Threads>
u32 WarpStep<Threads>::load(const Access& one, u32 base, u32 n, u32 round_count) {
  u64* const to = column(one.value);
  if (!is_affine(one.address)) return gather(one, base, n, round_count, to);
  const u32 size = one.size;
  const u64 stride = steps_[one.address], at = hosts_[&one - loop_.accesses.first] + stride * base;
  if (((at | stride) & (size - 1)) != 0) {
    for (u32 i = me_; i < n; i += kWarpThreads) to[i] = load_anywhere(at + stride * i, size);
  } else if (size == 1) {
    load_some<u8>(at, stride, me_, n, to);
  } else if (size == 2) {
    load_some<u16>(at, stride, me_, n, to);
  } else if (size == 4) {
    load_some<u32>(at, stride, me_, n, to);
  } else {
    load_some<u64>(at, stride, me_, n, to);
  }
  return n;
}

// Whether a store of the round writes there.
template <class Threads>
bool WarpStep<Threads>::is_stored_to(u64 host, u32 size, u32 round_count) const {
  for (u32 s = 0; s < loop_.accesses.count; ++s) {
    if (!access(s).is_store) continue;
    const i64 span = static_cast<i64>(steps_[access(s).address]) * (round_count - 1);
    const u64 low = hosts_[s] + static_cast<u64>(span < 0 ? span : 0);
    if (host - low < static_cast<u64>(span < 0 ? 0 - span : span) + access(s).size || low - host < size) return true;
  }
  return false;
}

// Loads at computed addresses.
template <class Threads>
u32 WarpStep<Threads>::gather(const Access& one, u32 base, u32 n, u32 round_count, u64* to) {
  for (u32 i = me_; i < n; i += kWarpThreads) {
    const u64 address = value_at(one.address, base, i);
    const bool crosses = address % memory::kPageSize + one.size > memory::kPageSize;
    const u64 host = crosses ? 0 : memory_.find(address, false);
    if (host == 0 || is_stored_to(host, one.size, round_count)) return i;
    to[i] = (host & (one.size - 1)) == 0 ? load_aligned(host, one.size) : load_anywhere(host, one.size);
  }
  return n;
}

// Computes the block's columns; gives for how many of its iterations they hold.
template <class Threads>
u32 WarpStep<Threads>::compute(u32 base, u32 n, u32 round_count) {
  u32 mine = n;
  for (const u16 number : loop_.body) {
    const Node& node = loop_.nodes[number];
    if (node.op == Op::kInput) {
      compute_previous(number, n);
    } else if (node.op == Op::kLoad) {
      const u32 loaded = load(access(static_cast<u32>(node.value)), base, n, round_count);
      mine = loaded < mine ? loaded : mine;
    } else {
      compute_node(number, base, n);
    }
  }
  if (!warp_loop_.votes) return n;
  for (const u16 condition : loop_.data) {
    for (u32 i = me_; i < mine; i += kWarpThreads) {
      if (value_at(condition, base, i) == 0) mine = i;
    }
  }
  return threads_.least(mine);
}

// --- reductions ----------------------------------------------------------------------------------------------------

// Partial results of an operation whose order does not matter: of the least and greatest, numbers of which the least
// counts; of differences, sums.
struct Fold {
  KVRM_INLINE explicit Fold(const Carried& carried)
      : op(carried.op), mask(mask_of(carried.width)), is_extreme(is_compare(carried.op)) {
    flip = (carried.subtracts ? ~u64{0} : 0) ^ (carried.op == Op::kLessSigned ? u64{1} << (carried.width - 1) : 0);
  }
  KVRM_INLINE u64 nothing() const { return is_extreme || op == Op::kAnd ? ~u64{0} : op == Op::kMul ? 1 : 0; }
  KVRM_INLINE u64 term(u64 value) const { return is_extreme ? (value ^ flip) & mask : value; }
  KVRM_INLINE u64 both(u64 a, u64 b) const {
    if (is_extreme) return a < b ? a : b;
    switch (op) {
      case Op::kAdd:
      case Op::kSub: return a + b;
      case Op::kMul: return a * b;
      case Op::kAnd: return a & b;
      case Op::kOr: return a | b;
      default: return a ^ b;
    }
  }
  // The state's part before, and what it is folded with.
  KVRM_INLINE u64 onto(u64 before, u64 partial) const {
    if (is_extreme) return (both(term(before), partial) ^ flip) & mask;
    return (op == Op::kSub ? before - partial : both(before, partial)) & mask;
  }

  Op op;
  u64 mask, flip;
  bool is_extreme;
};

// The thread's iterations of a block join its partial results; the last one of all is left out.
template <class Threads>
void WarpStep<Threads>::fold(u32 base, u32 n, bool is_last) {
  for (u32 c = 0; c < loop_.carried.count; ++c) {
    const Carried& carried = loop_.carried[c];
    if (carried.carry != Carry::kReduction) continue;
    const Fold fold(carried);
    u64& partial = partials_[u32{warp_loop_.reductions[c]} * kWarpThreads + me_];
    u64 value = partial;
    const u32 end = is_last ? n - 1 : n;
    for (u32 first = 0; first < end; first += kHalf * kWarpThreads) {
      Some terms;
      fetch(carried.term, base, first, terms);
#pragma GCC unroll 4
      for (u32 k = 0; k < kHalf; ++k)
        if (first + k * kWarpThreads + me_ < end) value = fold.both(value, fold.term(terms[k]));
    }
    partial = value;
  }
}

// After the last block of a round, or one that may be: the parts of the state before and after its last iteration, and
// what the last iteration computed. `since`: iterations that were folded together.
template <class Threads>
void WarpStep<Threads>::keep_last(u32 base, u32 n, u32 since) {
  threads_.sync();
  for (u32 c = 0; c < loop_.carried.count; ++c) {
    const Carried& carried = loop_.carried[c];
    if (carried.carry == Carry::kReduction) {
      const Fold fold(carried);
      u64& partial = partials_[u32{warp_loop_.reductions[c]} * kWarpThreads + me_];
      u64 total = partial;
      partial = fold.nothing();
      for (u32 by = kWarpThreads / 2; by != 0; by /= 2) total = fold.both(total, threads_.shuffle(total, me_ ^ by));
      if (me_ != 0) continue;
      // More than the part's bits count before the first iteration.
      before_[c] = since > 1 ? fold.onto(after_[c], total) : after_[c];
      after_[c] = fold.onto(before_[c], fold.term(value_at(carried.term, base, n - 1)));
    } else if (carried.carry == Carry::kPrevious && me_ == 0) {
      before_[c] = n > 1 ? value_at(carried.term, base, n - 2) : after_[c];
      after_[c] = value_at(carried.term, base, n - 1);
    }
  }
  for (u32 i = me_; i < loop_.body.count; i += kWarpThreads) last_[loop_.body[i]] = column(loop_.body[i])[n - 1];
  threads_.sync();
}

template <class Threads>
void WarpStep<Threads>::store(u32 base, u32 n) {
  for (const Access& one : loop_.accesses) {
    if (!one.is_store) continue;
    const u64 stride = steps_[one.address], at = hosts_[&one - loop_.accesses.first] + stride * base;
    const bool is_aligned = ((at | stride) & (one.size - 1u)) == 0;
    for (u32 first = 0; first < n; first += kHalf * kWarpThreads) {
      Some values;
      fetch(one.value, base, first, values);
#pragma GCC unroll 4
      for (u32 k = 0; k < kHalf; ++k) {
        const u32 i = first + k * kWarpThreads + me_;
        if (i >= n) continue;
        if (is_aligned) {
          store_aligned(at + stride * i, values[k], one.size);
        } else {
          store_anywhere(at + stride * i, values[k], one.size);
        }
      }
    }
  }
}

// --- rounds --------------------------------------------------------------------------------------------------------

template <class Threads>
u32 WarpStep<Threads>::round(u64 most) {
  u32 count = most < kWarpRound ? static_cast<u32>(most) : kWarpRound;
  u64 host = 0;
  if (threads_.any(!find_first(host))) {
    bool is_ready = false;
    if (me_ == 0) is_ready = prepare_first();
    if (threads_.shuffle(u64{is_ready}, 0) == 0) return 0;
    threads_.sync();
    if (threads_.any(!find_first(host))) return 0;
  }
  if (me_ < loop_.accesses.count) hosts_[me_] = host;
  threads_.sync();
  if (host != 0) count = contiguous(access(me_), host, count);
  count = threads_.least(count);
  if (count == 0) return 0;
  count = threads_.least(without_dependences(count));
  u32 done = 0, since = 0;
  while (done < count) {
    const u32 n = count - done < kWarpBlock ? count - done : kWarpBlock;
    const u32 holds = compute(done, n, count);
    if (holds == 0) break;
    since += holds;
    const bool is_last = warp_loop_.votes || done + holds == count;
    fold(done, holds, is_last);
    if (is_last) keep_last(done, holds, since);
    if (is_last) since = 0;
    threads_.sync();
    store(done, holds);
    done += holds;
    if (holds != n) break;
  }
  ended_ = done != count;
  if (done != 0) advance(done);
  return done;
}

template <class Threads>
u64 WarpStep<Threads>::run(u64 most) {
  set_up();
  most = trips(most);
  if (most == 0) return 0;
  if (!warp_loop_.has_rounds) {
    advance(most);
  } else {
    if (most > kWarpMost) most = kWarpMost;
    for (u32 c = 0; c < loop_.carried.count; ++c) {
      if (loop_.carried[c].carry == Carry::kReduction)
        partials_[u32{warp_loop_.reductions[c]} * kWarpThreads + me_] = Fold(loop_.carried[c]).nothing();
    }
    for (u64 left = most; left != 0 && !ended_;) {
      const u32 count = round(left);
      if (count == 0) break;
      left -= count;
    }
  }
  if (done_ != 0) finish();
  return done_;
}

}  // namespace kvrm::accelerate
