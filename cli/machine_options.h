// What `kvrm run` and `kvrm fleet` have in common: which machine, and what surrounds the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line.h"
#include "kvrm/machine.h"

namespace kvrm::cli {

struct MachineArguments {
  std::string device = "auto";
  std::string engine = "auto";
  std::string jit_threshold;
  std::string jit_tiers = "all";
  std::string jit_budget;
  std::string check;
  std::string lanes;
  std::string max_instructions;
  std::string memory = "4G";
  std::string root;
  std::vector<std::string> env;
  std::string clock = "virtual";
  std::string seed = "0";
  std::string stats;
  std::string dispatch = "table";
  std::string weights;
  bool unverified = false;
  bool dispatch_every = false;
  std::string prefetch = "off", prefetch_choices;
  bool lane_stats = false;
  std::string accelerate = "off";
  std::string loop_ranking = "hot";
  std::string loop_weights;
  bool perf_map = false;
  bool no_windows = false;
  bool verbose = false;
  bool strace = false;
  bool no_confine = false;
  bool progress = false;
};

void add_machine_options(CommandSpec command, MachineArguments& arguments);

struct Settings {
  Options options;
  Program program;  // path and args: from the command, where it names a program
  std::uint64_t budget = Machine::kNoLimit;
};

// The settings that the arguments ask for, or the first error in them. `command` follows the options: the program
// and its arguments, perhaps nothing.
Result<Settings> settings_of(const MachineArguments& arguments, const std::vector<std::string>& command);

}  // namespace kvrm::cli
