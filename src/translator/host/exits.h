// Where regions continue after an exit, and what they call: the host's side of host/frame.cpp and links.h.
#pragma once

#include "interpreter/entry.h"
#include "translator/freestanding/links.h"

namespace kvrm::translator {

// Handlers, but the last argument is the biased budget and cpu->pc is the pc. The entry is the region's own.
extern "C" {
// Continues at cpu->pc.
KVRM_HANDLER interpreter::Next kvrm_region_go(const interpreter::Entry* entry, interpreter::StateBase* state,
                                              interpreter::Context* context, i64 budget, u8* window);
// Leaves the loop before cpu->pc.
KVRM_HANDLER interpreter::Next kvrm_region_pause(const interpreter::Entry* entry, interpreter::StateBase* state,
                                                 interpreter::Context* context, i64 budget, u8* window);
// Leaves the loop because the word at cpu->pc trapped with context->trap.
KVRM_HANDLER interpreter::Next kvrm_region_trap(const interpreter::Entry* entry, interpreter::StateBase* state,
                                                interpreter::Context* context, i64 budget, u8* window);
// The region's page is mapped at an address it was not compiled for: its entry becomes a plain one. A handler.
KVRM_HANDLER interpreter::Next kvrm_region_elsewhere(const interpreter::Entry* entry, interpreter::StateBase* state,
                                                     interpreter::Context* context, i64 biased_budget, u8* window);
// The region requires the default FP mode, which does not hold now. A handler.
KVRM_HANDLER interpreter::Next kvrm_region_other_fp_mode(const interpreter::Entry* entry, interpreter::StateBase* state,
                                                         interpreter::Context* context, i64 biased_budget, u8* window);
// The budget ends before the entry. A handler.
KVRM_HANDLER interpreter::Next kvrm_stencil_pause(const interpreter::Entry* entry, interpreter::StateBase* state,
                                                  interpreter::Context* context, i64 biased_budget, u8* window);
}

// Everything that translated code may refer to by name.
struct HostSymbol {
  const char* name;
  void* address;
};
// Ends with a null name.
extern const HostSymbol kHostSymbols[];

}  // namespace kvrm::translator
