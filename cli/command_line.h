// The words of kvrm's command line, before and beside CLI11: which command they name, where a guest's own words begin,
// and what was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kvrm/result.h"

namespace kvrm::cli {

// The command that the first words name, as deep as they go.
const CLI::App& command_named(const CLI::App& app, const std::vector<std::string>& words);
// "kvrm models verify".
std::string full_name(const CLI::App& command);

// The error if the words name no command: which one is missing or unknown, and the nearest.
Result<void> check_command(const CLI::App& app, const std::vector<std::string>& words);

// Of a command that runs a guest: takes `--` and what follows it out of the words, if `--` ends kvrm's options.
std::vector<std::string> take_separated(const CLI::App& app, std::vector<std::string>& words);
// The guest's program and arguments: what the parser left, or what came after `--`. The error is an unknown option.
Result<std::vector<std::string>> guest_command(const CLI::App& command, const std::vector<std::string>& separated);

// Of the candidates the one that `word` is most likely a slip of, or nothing.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace kvrm::cli
