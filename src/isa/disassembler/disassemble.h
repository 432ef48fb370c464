// From a word to its text, as LLVM 19 prints it for a Neoverse N1 (llvm-mc --disassemble): the mnemonic, a
// TAB, the operands, preferred aliases; no comments (LLVM adds some, such as `// =4096`). The match is
// character by character and tests/disasm checks it for every row. A word that is no row of a64.inc is
// `.inst 0x........`.
#pragma once

#include <string>

#include "base/types.h"

namespace kvrm::isa {

// Branches, ADR, ADRP and literal loads show their offset in bytes (`b #-8`), LLVM's form without symbols.
// So the text is the same at every address; callers pass theirs because a form with targets would need it.
std::string disassemble(u32 word, u64 address);

}  // namespace kvrm::isa
