// kvrm run --lanes N: the same program and input on every lane.
#pragma once

#include "machine_options.h"

namespace kvrm::cli {

int run_lanes(const MachineArguments& arguments, const Settings& settings);

}  // namespace kvrm::cli
