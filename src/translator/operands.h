// A word's operands as the rows' functions take them.
#pragma once

#include "isa/decode.h"

namespace kvrm::translator {

u64 pack_row_operands(isa::Row row, u32 word);

}  // namespace kvrm::translator
