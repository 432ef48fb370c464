// The commands of the kvrm program. Each adds itself to the parser and says how to run once the line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace kvrm::cli {

// A host-side problem: no such file, no GPU, a bad flag.
inline constexpr int kHostError = 125;

using Command = std::function<int()>;

// `chosen` receives the command when its name is on the line. `separated`: what follows `--` on the line; it is there
// when the command runs.
void add_run(CLI::App& app, const std::vector<std::string>& separated, Command& chosen);
void add_fleet(CLI::App& app, const std::vector<std::string>& separated, Command& chosen);
void add_info(CLI::App& app, Command& chosen);
void add_disasm(CLI::App& app, Command& chosen);
void add_models(CLI::App& app, Command& chosen);
void add_cache(CLI::App& app, Command& chosen);

// Prints "kvrm: message" on stderr and returns kHostError.
int host_error(const std::string& message);

}  // namespace kvrm::cli
