// Names that other commands show, too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvrm/symbols.h"

namespace kvrm::cli {

// `index_file`: empty for the index that comes with kvrm.
Result<std::vector<RoutineName>> guess_names(std::span<const std::uint8_t> elf, const std::string& index_file);

// The least confidence of a name: the default where the text is empty.
Result<double> parse_threshold(const std::string& command, const std::string& text);

// The routine that a pc of a program is in, by its symbols or else as a guess: "main+0x1c", "~strlen+0x8, a guess".
// Empty where neither says, and for a program that does not run where it was linked.
std::string routine_at(const std::string& program, std::uint64_t pc);

}  // namespace kvrm::cli
