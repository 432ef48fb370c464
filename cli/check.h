// kvrm run --check N: the translator beside the interpreter, compared every N instructions.
#pragma once

#include "machine_options.h"

namespace kvrm::cli {

int run_check(const MachineArguments& arguments, const Settings& settings);

}  // namespace kvrm::cli
