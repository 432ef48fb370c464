#include "translator/stencils/variant.h"

#include <cstring>

#include "interpreter/freestanding/variants.h"

namespace kvrm::translator::stencils {
namespace {

template <class Op>
Variant variant_of(u32 word, u32 index_in_page) {
  using Variants = interpreter::Variants<Op, true>;
  const Op op = Op::decode(word);
  const u32 number = Variants::choose(op, index_in_page);
  Variant result{number % Variants::kCombinations, kNear, 0};
  if (isa::facts(Op::kRow).flow != isa::Flow::kNext) {
    if (number < Variants::kCombinations) {
      result.form = kFar;
    } else if (has_forward_form(Op::kRow) && Variants::branch_words(op) > 0) {
      result.form = kForward;
    }
    if (result.form != kFar) result.words = Variants::branch_words(op);
  }
  static_assert(sizeof(op) <= sizeof(result.operands));
  std::memcpy(&result.operands, &op, sizeof(op));
  return result;
}

}  // namespace

Variant variant_of(isa::Row row, u32 word, u32 index_in_page) {
  switch (row) {
#define KVRM_CASE(name) \
  case isa::Row::name: return variant_of<isa::name>(word, index_in_page);
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_CASE)
#undef KVRM_CASE
    default: return {};
  }
}

}  // namespace kvrm::translator::stencils
