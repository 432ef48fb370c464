// Names of translated code for perf(1).
#pragma once

#include <string>

#include "base/types.h"

namespace kvrm::translator {

// Adds a line to /tmp/perf-PID.map.
void list_for_perf(const void* code, u64 size, const std::string& name);

}  // namespace kvrm::translator
