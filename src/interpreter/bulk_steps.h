// Many iterations of a loop at once: an entry at the loop's head may run run_bulk_step (handlers.h), which asks here.
#pragma once

#include "interpreter/entry.h"

namespace kvrm::interpreter {

class BulkSteps {
 public:
  virtual ~BulkSteps() = default;

  struct Done {
    u64 retired;   // instructions of whole iterations, no more than the budget
    Handler next;  // runs the entry's word now
  };
  // At the loop's head, before its first word. The state is that after `retired` instructions.
  virtual Done step(const Entry* entry, Cpu& cpu, u64 budget) = 0;
};

}  // namespace kvrm::interpreter
