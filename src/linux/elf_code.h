// Where the code of an ELF file is and what its parts are called: for a disassembler, not for running it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"
#include "linux/elf_format.h"

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

// The section headers; none where they are not whole.
std::vector<SectionHeader> sections_of(std::span<const u8> bytes, const ElfHeader& header);
// The contents of a section, as far as they are in the file.
std::span<const u8> contents_of(std::span<const u8> bytes, const SectionHeader& section);
// A string of a string table; empty beyond its end.
std::string text_at(std::span<const u8> strings, u64 offset);

}  // namespace kvrm::linux_abi
