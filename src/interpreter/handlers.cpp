#include "interpreter/handlers.h"

#include "interpreter/bulk_steps.h"
#include "interpreter/row_handlers.h"
#include "interpreter/shards.h"

namespace kvrm::interpreter {
namespace {

KVRM_HANDLER Next run_undefined(const Entry* entry, StateBase*, Context* context, i64 biased_budget, u8*) {
  return leave(entry, context, biased_budget, Trap::kUndefined);
}

}  // namespace

Entry make_entry(isa::Row row, u32 word, u32 index_in_page) {
  Entry entry{&run_undefined, 0};
  for (const MakeEntry make : kShards) {
    if (make(row, word, index_in_page, entry)) break;
  }
  return entry;
}

KVRM_HANDLER Next run_undecoded(const Entry* entry, [[maybe_unused]] StateBase* state, Context* context,
                                i64 biased_budget, [[maybe_unused]] u8* window) {
  const Entry* decoded = context->cache->enter(address_of(*context, entry));
  biased_budget += host_address(decoded) - host_address(entry);
  KVRM_CONTINUE(decoded, biased_budget);
}

KVRM_HANDLER Next run_page_end(const Entry* entry, [[maybe_unused]] StateBase* state, Context* context,
                               i64 biased_budget, [[maybe_unused]] u8* window) {
  const Entry* target = find_entry(context, address_of(*context, entry));
  biased_budget += host_address(target) - host_address(entry);
  if (KVRM_UNLIKELY(biased_budget - host_address(target) < kCheckInterval))
    return leave(target, context, biased_budget, Trap::kNone);
  KVRM_CONTINUE(target, biased_budget);
}

KVRM_HANDLER Next run_fetch_fault(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8*) {
  Cpu* const cpu = state_at(state);
  cpu->fault_address = address_of(*context, entry);
  cpu->fault_access = static_cast<u32>(Access::kExecute);
  return leave(entry, context, biased_budget, context->fetch_trap);
}

KVRM_HANDLER Next run_bulk_step(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8* window) {
  // What follows may run so far before it checks the budget.
  constexpr i64 kReserve = kCheckInterval / kBudgetPerInstruction;
  const i64 left = remaining(entry, biased_budget) - kReserve;
  const BulkSteps::Done done =
      context->bulk_steps->step(entry, *state_at(state), left > 0 ? static_cast<u64>(left) : u64{0});
  biased_budget -= static_cast<i64>(done.retired) * kBudgetPerInstruction;
#if KVRM_TAIL_CALLS
  [[clang::musttail]]
#endif
  return done.next(entry, state, context, biased_budget, window);
}

KVRM_HANDLER Next run_pause(const Entry* entry, StateBase*, Context* context, i64 biased_budget, u8*) {
  return leave(entry, context, biased_budget, Trap::kNone);
}

}  // namespace kvrm::interpreter
