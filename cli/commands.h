// The commands of the kvrm program. Each adds itself to the parser and says how to run once the line is parsed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line.h"

namespace kvrm::cli {

// A host-side problem: no such file, no GPU, a bad flag.
inline constexpr int kHostError = 125;

using Command = std::function<int()>;

// `chosen` receives the command when its name is on the line. `separated`: what follows `--` on the line; it is there
// when the command runs.
void add_run(CommandSpec program, const std::vector<std::string>& separated, Command& chosen);
void add_fleet(CommandSpec program, const std::vector<std::string>& separated, Command& chosen);
void add_loops(CommandSpec program, const std::vector<std::string>& separated, Command& chosen);
void add_info(CommandSpec program, Command& chosen);
void add_disasm(CommandSpec program, Command& chosen);
void add_models(CommandSpec program, const std::vector<std::string>& separated, Command& chosen);
void add_symbols(CommandSpec program, Command& chosen);
// Below models.
void add_evaluate(CommandSpec models, Command& chosen);
void add_prefetch(CommandSpec models, const std::vector<std::string>& separated, Command& chosen);
void add_cache(CommandSpec program, Command& chosen);

// Prints "kvrm: message" on stderr and returns kHostError.
int host_error(const std::string& message);

}  // namespace kvrm::cli
