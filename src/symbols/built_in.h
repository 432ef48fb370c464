// The index that comes with the library, models/symbols.index.
#pragma once

#include <span>

#include "base/types.h"

namespace kvrm::symbols {

std::span<const u8> built_in_index();

}  // namespace kvrm::symbols
