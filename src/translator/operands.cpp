#include "translator/operands.h"

#include <cstring>

#include "semantics/meaning.h"

namespace kvrm::translator {

u64 pack_row_operands(isa::Row row, u32 word) {
  u64 bits = 0;
  switch (row) {
#define KVRM_PACK_CASE(name)                      \
  case isa::Row::name: {                          \
    const isa::name op = isa::name::decode(word); \
    static_assert(sizeof(op) <= sizeof(bits));    \
    std::memcpy(&bits, &op, sizeof(op));          \
    break;                                        \
  }
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_PACK_CASE)
#undef KVRM_PACK_CASE
    default: break;
  }
  return bits;
}

}  // namespace kvrm::translator
