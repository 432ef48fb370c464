// Where the code of an ELF file is and what its parts are called: for a disassembler, not for running it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"

namespace kvrm::linux_abi {

struct ElfCode {
  struct Symbol {
    u64 address;
    std::string name;
  };
  std::string name;  // of the section; empty: a segment
  u64 address;       // as it was linked
  std::span<const u8> bytes;  // in the file
  std::vector<Symbol> symbols;  // in the order of their addresses
};

// The executable sections of any AArch64 ELF file, or where it has none the executable segments without the ELF
// headers. The error: it is no such file.
Result<std::vector<ElfCode>> find_code(std::span<const u8> bytes);

}  // namespace kvrm::linux_abi
