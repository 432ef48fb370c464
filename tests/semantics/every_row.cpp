// Every row's meaning as a function of its own, with the word known only at run time: the shape an interpreter calls.
// Compiled by every compiler, so that each template is instantiated for each target.
#include "memory/freestanding/flat.h"
#include "semantics/meaning.h"

#define KVRM_ROW_FUNCTION(name)                                                                                     \
  extern "C"                                                                                                        \
      __attribute__((noinline)) kvrm::Trap row_##name(kvrm::Cpu* cpu, kvrm::memory::Flat* memory, kvrm::u32 word) { \
    return kvrm::semantics::Meaning<kvrm::isa::name>::execute(*cpu, *memory, kvrm::isa::name::decode(word));        \
  }
KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_ROW_FUNCTION)
