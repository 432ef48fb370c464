// Finds the routines of a stripped program.
#pragma once

#include <vector>

#include "symbols/image.h"
#include "symbols/linked.h"

namespace kvrm::symbols {

// Where routines begin and how long they are, by address: what .eh_frame tells of, the entry, targets of BL, pointers
// to code that follows the end of other code, and what is left between.
std::vector<Range> find_routines(const Linked& linked);
// The same with code, calls and texts.
Image discover(const Linked& linked);

}  // namespace kvrm::symbols
