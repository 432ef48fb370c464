// How a handler goes on with the next one, or leaves the loop.
#pragma once

#include "interpreter/predecode.h"

namespace kvrm::interpreter {

#if KVRM_TAIL_CALLS
#define KVRM_CONTINUE(target, credit) [[clang::musttail]] return (target)->run(cpu, (target), context, (credit))
#else
#define KVRM_CONTINUE(target, credit) \
  return Next { (target), (credit) }
#endif

KVRM_INLINE Next leave(const Entry* entry, Context* context, i64 credit, Trap trap) {
  context->stopped_at = entry;
  context->trap = trap;
  return {nullptr, credit};
}

// The entry for an address, through the recently entered pages.
KVRM_INLINE const Entry* find_entry(Context* context, u64 pc) {
  constexpr u64 kInPage = (kWordsPerPage - 1) * 4;
  const Context::CachedPage& page = context->pages[pc / memory::kPageSize % Context::kCachedPages];
  if (KVRM_UNLIKELY(page.address != (pc & ~kInPage))) return context->cache->enter(pc);
  context->page_address = page.address;
  context->entries = page.entries;
  return page.entries + (pc & kInPage) / 4;
}

}  // namespace kvrm::interpreter
