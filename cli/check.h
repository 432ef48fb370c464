// kvrm run --check N: the translator beside the interpreter, compared every N instructions.
#pragma once

#include "machine_options.h"

namespace kvrm::cli {

// All there is on stdin, which both get.
std::string all_of_stdin();

int run_check(const MachineArguments& arguments, const Settings& settings);

}  // namespace kvrm::cli
