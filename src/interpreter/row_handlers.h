// The handlers themselves, as templates over a row's operands and its variant. Each shard of the table instantiates its
// own rows in a source file of its own.
#pragma once

#include <cstring>
#include <utility>

#include "interpreter/clock.h"
#include "interpreter/continue.h"
#include "interpreter/freestanding/variants.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"

namespace kvrm::interpreter {

using Memory = memory::Paged<memory::Mmu>;

template <class Op>
KVRM_INLINE Op operands_of(const Entry* entry) {
  Op op;
  static_assert(sizeof(op) <= sizeof(entry->operands));
  std::memcpy(&op, &entry->operands, sizeof(op));
  return op;
}

// A row that does not branch.
template <class Op, u32 kVariant>
KVRM_HANDLER Next run_next(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                           [[maybe_unused]] u8* window) {
  Cpu* const cpu = state_at(state);
  Op op = operands_of<Op>(entry);
  Variants<Op>::template fix<kVariant>(op);
  if constexpr (semantics::kUsesPc<Op>) cpu->pc = address_of(*context, entry);
  if constexpr (isa::facts(Op::kRow).routing == isa::Class::kSystem) {
    cpu->clock_ns = clock_now(*context, remaining(entry, biased_budget));
  }
  Memory memory{context->translations, context->mmu};
  const Trap trap = semantics::Meaning<Op>::execute(*cpu, memory, op);
  if (KVRM_UNLIKELY(trap != Trap::kNone)) return leave(entry, context, biased_budget, trap);
  const Entry* next = entry + 1;
  KVRM_CONTINUE(next, biased_budget);
}

// A direct branch within the page. Its meaning is relative to pc, so only BL needs the real pc, for the link register;
// the offset alone gives the target's entry.
template <class Op, u32 kVariant>
KVRM_HANDLER Next run_near_branch(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                                  [[maybe_unused]] u8* window) {
  Cpu* const cpu = state_at(state);
  Op op = operands_of<Op>(entry);
  Variants<Op>::template fix<kVariant>(op);
  const u64 pc = Op::kRow == isa::Row::BL ? address_of(*context, entry) : 0;
  cpu->pc = pc;
  Memory memory{context->translations, context->mmu};
  (void)semantics::Meaning<Op>::execute(*cpu, memory, op);
  const i64 offset = static_cast<i64>(cpu->pc - pc) * (kBudgetPerInstruction / 4);
  const Entry* next = entry + 1;
  if (offset == kBudgetPerInstruction) KVRM_CONTINUE(next, biased_budget);
  const Entry* target = entry_at(host_address(entry) + offset);
  biased_budget += offset - kBudgetPerInstruction;
  if (KVRM_UNLIKELY(biased_budget - host_address(target) < kCheckInterval))
    return leave(target, context, biased_budget, Trap::kNone);
  KVRM_CONTINUE(target, biased_budget);
}

// Any other branch.
template <class Op, u32 kVariant>
KVRM_HANDLER Next run_far_branch(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                                 [[maybe_unused]] u8* window) {
  Cpu* const cpu = state_at(state);
  Op op = operands_of<Op>(entry);
  Variants<Op>::template fix<kVariant>(op);
  cpu->pc = address_of(*context, entry);
  Memory memory{context->translations, context->mmu};
  (void)semantics::Meaning<Op>::execute(*cpu, memory, op);
  const Entry* target = find_entry(context, cpu->pc);
  biased_budget += host_address(target) - host_address(entry) - kBudgetPerInstruction;
  if (KVRM_UNLIKELY(biased_budget - host_address(target) < kCheckInterval))
    return leave(target, context, biased_budget, Trap::kNone);
  KVRM_CONTINUE(target, biased_budget);
}

template <class Op, u32 kVariant>
constexpr Handler handler_of() {
  constexpr isa::Flow kFlow = isa::facts(Op::kRow).flow;
  if constexpr (kFlow == isa::Flow::kNext || kFlow == isa::Flow::kTrap) {
    return &run_next<Op, kVariant>;
  } else if constexpr (Variants<Op>::template kStaysInPage<kVariant>) {
    return &run_near_branch<Op, kVariant>;
  } else {
    return &run_far_branch<Op, kVariant>;
  }
}

template <class Op>
Handler choose_handler(const Op& op, u32 index_in_page) {
  constexpr auto kHandlers = []<u32... kVariant>(std::integer_sequence<u32, kVariant...>) {
    struct Table {
      Handler handlers[sizeof...(kVariant)];
    };
    return Table{{handler_of<Op, kVariant>()...}};
  }(std::make_integer_sequence<u32, Variants<Op>::kCount>{});
  return kHandlers.handlers[Variants<Op>::choose(op, index_in_page)];
}

template <class Op>
Entry make_row_entry(u32 word, u32 index_in_page) {
  const Op op = Op::decode(word);
  Entry entry{choose_handler(op, index_in_page), 0};
  std::memcpy(&entry.operands, &op, sizeof(op));
  return entry;
}

}  // namespace kvrm::interpreter
