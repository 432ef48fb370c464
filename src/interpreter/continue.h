// How a handler continues with the next one, or leaves the loop.
#pragma once

#include "interpreter/predecode.h"

namespace kvrm::interpreter {

#if KVRM_TAIL_CALLS
#define KVRM_CONTINUE(target, biased_budget) \
  [[clang::musttail]] return (target)->run((target), state, context, (biased_budget), window)
#else
#define KVRM_CONTINUE(target, biased_budget) \
  return Next { (target), (biased_budget) }
#endif

KVRM_INLINE Next leave(const Entry* entry, Context* context, i64 biased_budget, Trap trap) {
  context->stopped_at = entry;
  context->trap = trap;
  return {nullptr, biased_budget};
}

// The entry for an address, through the cache of entered pages.
KVRM_INLINE const Entry* find_entry(Context* context, u64 pc) {
  constexpr u64 kInPage = (kWordsPerPage - 1) * 4;
  const Context::CachedPage& page = context->pages[pc / memory::kPageSize % Context::kCachedPages];
  if (KVRM_UNLIKELY(page.address != (pc & ~kInPage))) return context->cache->enter(pc);
  context->page_address = page.address;
  context->entries = page.entries;
  return page.entries + (pc & kInPage) / 4;
}

}  // namespace kvrm::interpreter
