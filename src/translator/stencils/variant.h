// What a stencil is chosen by.
#pragma once

#include "isa/decode.h"
#include "translator/stencils/format.h"

namespace kvrm::translator::stencils {

struct Variant {
  u32 number;     // among the variants of the row
  Form form;      // of a branch
  u64 operands;   // the row's operand struct
  i32 words = 0;  // how far a branch within its page goes
};
// Whether a branch within its page has a form that goes forward: a call's target may be the entry of a region.
inline bool has_forward_form(isa::Row row) {
  const isa::Flow flow = isa::facts(row).flow;
  return flow == isa::Flow::kDirect || flow == isa::Flow::kConditional;
}
Variant variant_of(isa::Row row, u32 word, u32 index_in_page);

}  // namespace kvrm::translator::stencils
