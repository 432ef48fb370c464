#include "translator/host/exits.h"

#include "interpreter/continue.h"
#include "translator/host/lane_regions.h"

namespace kvrm::translator {

using namespace interpreter;

extern "C" {

KVRM_HANDLER Next kvrm_region_go(const Entry*, StateBase* state, Context* context, i64 budget,
                                 [[maybe_unused]] u8* window) {
  const Entry* target = find_entry(context, state_at(state)->pc);
  const i64 biased_budget = budget + host_address(target);
  if (KVRM_UNLIKELY(budget < kCheckInterval)) return leave(target, context, biased_budget, Trap::kNone);
  KVRM_CONTINUE(target, biased_budget);
}

KVRM_HANDLER Next kvrm_region_pause(const Entry* entry, StateBase* state, Context* context, i64 budget, u8*) {
  context->paused_region = address_of(*context, entry);
  const Entry* target = find_entry(context, state_at(state)->pc);
  return leave(target, context, budget + host_address(target), Trap::kNone);
}

KVRM_HANDLER Next kvrm_region_trap(const Entry*, StateBase* state, Context* context, i64 budget, u8*) {
  Trap trap = context->trap;
  const Entry* target = find_entry(context, state_at(state)->pc);
  if (trap == Trap::kFallback) {
    context->step_next = true;
    trap = Trap::kNone;
  }
  return leave(target, context, budget + host_address(target), trap);
}

KVRM_HANDLER Next kvrm_region_elsewhere(const Entry* entry, [[maybe_unused]] StateBase* state, Context* context,
                                        i64 biased_budget, [[maybe_unused]] u8* window) {
  const Entry plain = context->cache->plain_entry(address_of(*context, entry));
  const_cast<Entry*>(entry)->run = plain.run;
  const_cast<Entry*>(entry)->operands = plain.operands;
  KVRM_CONTINUE(entry, biased_budget);
}

KVRM_HANDLER Next kvrm_region_other_fp_mode(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                                            u8* window) {
  const Handler next = LaneRegions::run_in_other_fp_mode(const_cast<Entry*>(entry), address_of(*context, entry));
#if KVRM_TAIL_CALLS
  [[clang::musttail]] return next(entry, state, context, biased_budget, window);
#else
  return next(entry, state, context, biased_budget, window);
#endif
}

KVRM_HANDLER Next kvrm_stencil_pause(const Entry* entry, StateBase*, Context* context, i64 biased_budget, u8*) {
  return leave(entry, context, biased_budget, Trap::kNone);
}

KVRM_LINK memory::SlowAccess kvrm_read_slow(void* mmu, memory::Tlb* cache, u64 address, void* to, u32 size) {
  return static_cast<memory::Mmu*>(mmu)->read_slow(*cache, address, to, size);
}

KVRM_LINK memory::SlowAccess kvrm_write_slow(void* mmu, memory::Tlb* cache, u64 address, const void* from, u32 size) {
  auto& memory = *static_cast<memory::Mmu*>(mmu);
  if (memory.holds_code(address, size)) return {Trap::kFallback, address};
  return memory.write_slow(*cache, address, from, size);
}

KVRM_LINK memory::SlowAccess kvrm_exchange_slow(void* mmu, memory::Tlb* cache, u64 address, const void* expected,
                                                const void* desired, void* observed, u32 size) {
  auto& memory = *static_cast<memory::Mmu*>(mmu);
  if (memory.holds_code(address, size)) return {Trap::kFallback, address};
  return memory.exchange_slow(*cache, address, expected, desired, observed, size);
}

KVRM_LINK void kvrm_fence_slow(void* mmu, memory::Tlb* cache) { static_cast<memory::Mmu*>(mmu)->fence_slow(*cache); }

}  // extern "C"
}  // namespace kvrm::translator
