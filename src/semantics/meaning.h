// From a row's operand struct to the function that is its meaning: Meaning<isa::ADD_imm>::execute is ADD_imm.
// This is how every driver reaches the semantics. Contract with the driver:
//   - cpu.pc is the address of the instruction when execute is called (drivers may leave it stale for rows that
//     neither read nor write it, see kUsesPc);
//   - rows of flow next leave pc alone, the driver advances it; all other rows write pc, unless they trap;
//   - a Trap other than kNone and kSystemCall means that nothing but the fault fields of the state has changed.
#pragma once

#include "isa/a64_implemented.h"
#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::semantics {

template <class Op>
struct Meaning {
  static constexpr bool kImplemented = false;
};

#define KVRM_MEANING(name)                                                      \
  template <>                                                                   \
  struct Meaning<isa::name> {                                                   \
    static constexpr bool kImplemented = true;                                  \
    template <class M>                                                          \
    static KVRM_INLINE Trap execute(Cpu& cpu, M& memory, const isa::name& op) { \
      if constexpr (__is_same(decltype(name(cpu, memory, op)), void)) {         \
        name(cpu, memory, op);                                                  \
        return Trap::kNone;                                                     \
      } else {                                                                  \
        return name(cpu, memory, op);                                           \
      }                                                                         \
    }                                                                           \
  };
KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_MEANING)
#undef KVRM_MEANING

// Rows that read or write pc: everything that is not flow next, and the PC-relative groups.
template <class Op>
inline constexpr bool kUsesPc =
    isa::facts(Op::kRow).flow != isa::Flow::kNext || isa::facts(Op::kRow).group == isa::Group::kPcRelative ||
    isa::facts(Op::kRow).group == isa::Group::kLoadLiteral;

}  // namespace kvrm::semantics
