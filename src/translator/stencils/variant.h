// What a stencil is chosen by.
#pragma once

#include "isa/decode.h"

namespace kvrm::translator::stencils {

struct Variant {
  u32 number;     // among the variants of the row
  bool is_near;   // a direct branch within its page
  u64 operands;   // the row's operand struct
};
Variant variant_of(isa::Row row, u32 word, u32 index_in_page);

}  // namespace kvrm::translator::stencils
