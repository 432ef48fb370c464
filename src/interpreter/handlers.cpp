#include "interpreter/handlers.h"

#include "interpreter/row_handlers.h"
#include "interpreter/shards.h"

namespace kvrm::interpreter {
namespace {

KVRM_HANDLER Next run_undefined(Cpu*, const Entry* entry, Context* context, i64 credit) {
  return leave(entry, context, credit, Trap::kUndefined);
}

}  // namespace

Entry make_entry(isa::Row row, u32 word, u32 index_in_page) {
  Entry entry{&run_undefined, 0};
  for (const MakeEntry make : kShards) {
    if (make(row, word, index_in_page, entry)) break;
  }
  return entry;
}

KVRM_HANDLER Next run_undecoded([[maybe_unused]] Cpu* cpu, const Entry* entry, Context* context, i64 credit) {
  const Entry* decoded = context->cache->enter(address_of(*context, entry));
  credit += place(decoded) - place(entry);
  KVRM_CONTINUE(decoded, credit);
}

KVRM_HANDLER Next run_page_end([[maybe_unused]] Cpu* cpu, const Entry* entry, Context* context, i64 credit) {
  const Entry* target = find_entry(context, address_of(*context, entry));
  credit += place(target) - place(entry);
  if (KVRM_UNLIKELY(credit - place(target) < kCheckInterval)) return leave(target, context, credit, Trap::kNone);
  KVRM_CONTINUE(target, credit);
}

KVRM_HANDLER Next run_fetch_fault(Cpu* cpu, const Entry* entry, Context* context, i64 credit) {
  cpu->fault_address = address_of(*context, entry);
  cpu->fault_access = static_cast<u32>(Access::kExecute);
  return leave(entry, context, credit, context->fetch_trap);
}

KVRM_HANDLER Next run_pause(Cpu*, const Entry* entry, Context* context, i64 credit) {
  return leave(entry, context, credit, Trap::kNone);
}

}  // namespace kvrm::interpreter
