// Where regions go when they leave, and what they call: the host's side of host_frame.cpp and links.h.
#pragma once

#include "interpreter/entry.h"
#include "translator/links.h"

namespace kvrm::translator {

// Handlers, except that the last argument is the budget in credit and that cpu->pc says where control is. The entry is
// the region's own.
extern "C" {
// Goes on at cpu->pc.
KVRM_HANDLER interpreter::Next kvrm_region_go(Cpu* cpu, const interpreter::Entry* entry, interpreter::Context* context,
                                              i64 budget);
// Leaves the loop before cpu->pc.
KVRM_HANDLER interpreter::Next kvrm_region_pause(Cpu* cpu, const interpreter::Entry* entry,
                                                 interpreter::Context* context, i64 budget);
// Leaves the loop because the word at cpu->pc trapped with context->trap.
KVRM_HANDLER interpreter::Next kvrm_region_trap(Cpu* cpu, const interpreter::Entry* entry,
                                                interpreter::Context* context, i64 budget);
// The region's page is shown at an address it was not made for: its entry becomes a plain one. A handler.
KVRM_HANDLER interpreter::Next kvrm_region_elsewhere(Cpu* cpu, const interpreter::Entry* entry,
                                                     interpreter::Context* context, i64 credit);
// The region relies on the usual floating point, which is not there now. A handler.
KVRM_HANDLER interpreter::Next kvrm_region_unusual(Cpu* cpu, const interpreter::Entry* entry,
                                                   interpreter::Context* context, i64 credit);
}

// Everything a region may refer to by name.
struct HostSymbol {
  const char* name;
  void* address;
};
// Ends with a null name.
extern const HostSymbol kHostSymbols[];

}  // namespace kvrm::translator
