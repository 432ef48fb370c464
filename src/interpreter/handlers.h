// The functions that run entries.
#pragma once

#include "interpreter/entry.h"
#include "isa/a64_rows.h"

namespace kvrm::interpreter {

// The entry for a word of this row at an index of its page: the row's handler, specialized for the operands.
Entry make_entry(isa::Row row, u32 word, u32 index_in_page);

// Decodes its own word first.
KVRM_HANDLER Next run_undecoded(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8* window);
// Follows the last word of a page.
KVRM_HANDLER Next run_page_end(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8* window);
// Replaces a word that could not be fetched.
KVRM_HANDLER Next run_fetch_fault(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                                  u8* window);
// Leaves the loop before its entry.
KVRM_HANDLER Next run_pause(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8* window);
// At a loop's head: does whole iterations at once (bulk_steps.h), then runs its own word.
KVRM_HANDLER Next run_bulk_step(const Entry* entry, StateBase* state, Context* context, i64 biased_budget, u8* window);

}  // namespace kvrm::interpreter
