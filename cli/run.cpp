// kvrm run: a Linux program from start to end.
#include <fmt/core.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kvrm/machine.h"
#include "options.h"

namespace kvrm::cli {
namespace {

struct RunArguments {
  std::string device = "auto";
  std::string engine = "auto";
  std::string lanes = "1";
  std::string max_instructions;
  std::string memory = "4G";
  std::string root;
  std::vector<std::string> env;
  std::string stats;
  std::string clock = "virtual";
  std::string seed = "0";
  bool verbose = false;
};

// Ctrl-C: the only thing a signal handler may reach.
std::atomic<Machine*> running{nullptr};

void on_interrupt(int) {
  if (Machine* machine = running.load()) machine->cancel();
}

void print_registers(const Machine& machine) {
  const Registers registers = machine.registers();
  for (unsigned i = 0; i < 31; ++i) {
    fmt::print(stderr, "{}{:>4} {:016x}", i % 4 == 0 ? "kvrm:" : "", fmt::format("x{}", i), registers.x[i]);
    if (i % 4 == 3) fmt::print(stderr, "\n");
  }
  fmt::print(stderr, "{:>4} {:016x}\n", "sp", registers.sp);
  const auto flag = [&](unsigned bit, char name) { return registers.nzcv >> bit & 1 ? name : '-'; };
  fmt::print(stderr, "kvrm:{:>4} {:016x}  nzcv {}{}{}{}\n", "pc", registers.pc, flag(31, 'N'), flag(30, 'Z'),
             flag(29, 'C'), flag(28, 'V'));
}

void print_death(const Machine& machine, const Stop& stop) {
  fmt::print(stderr, "kvrm: the program was killed by signal {} ({}) at pc {:#x}: {}\n", stop.signal,
             strsignal(stop.signal), stop.pc, disassemble(stop.word, stop.pc));
  if (!stop.message.empty()) fmt::print(stderr, "kvrm: {}\n", stop.message);
  print_registers(machine);
}

void print_statistics(const Machine& machine, const Stop& stop, bool as_json) {
  const Statistics statistics = machine.statistics();
  const double ips = statistics.seconds > 0 ? static_cast<double>(statistics.instructions) / statistics.seconds : 0;
  if (as_json) {
    nlohmann::ordered_json json = {
        {"instructions", statistics.instructions},
        {"seconds", statistics.seconds},
        {"ips", ips},
        {"device", statistics.device},
        {"engine", statistics.engine},
        {"lanes", machine.lanes()},
        {"launches", statistics.launches},
        {"stop_reason", to_string(stop.reason)},
        {"exit_status", stop.exit_status},
        {"signal", stop.signal},
        {"system_calls", statistics.system_calls},
        {"decoded_words", statistics.decoded_words},
        {"code_invalidations", statistics.code_invalidations},
        {"private_bytes", statistics.private_bytes},
        {"pc", stop.pc},
    };
    if (statistics.floats) {
      json["fp_fast"] = statistics.floats->fast;
      json["fp_slow"] = statistics.floats->slow;
    }
    fmt::print(stderr, "{}\n", json.dump());
    return;
  }
  fmt::print(stderr,
             "instructions       {}\nseconds            {:.6f}\ninstructions/s     {:.1f} M\n"
             "device, engine     {}, {}\nlaunches           {}\nstopped by         {}\nsystem calls       {}\n"
             "decoded words      {}\ncode invalidations {}\nprivate memory     {} KiB\n",
             statistics.instructions, statistics.seconds, ips / 1e6, statistics.device, statistics.engine,
             statistics.launches, to_string(stop.reason), statistics.system_calls, statistics.decoded_words,
             statistics.code_invalidations, statistics.private_bytes / 1024);
  if (statistics.floats) {
    fmt::print(stderr, "FP, fast and slow  {}, {}\n", statistics.floats->fast, statistics.floats->slow);
  }
}

int exit_status(const Machine& machine, const Stop& stop) {
  switch (stop.reason) {
    case StopReason::kExit: return stop.exit_status;
    case StopReason::kSignal: print_death(machine, stop); return 128 + stop.signal;
    case StopReason::kCancelled: fmt::print(stderr, "kvrm: interrupted at pc {:#x}\n", stop.pc); return 130;
    case StopReason::kBudget:
      fmt::print(stderr, "kvrm: stopped after {} instructions (--max-instructions) at pc {:#x}: {}\n",
                 machine.statistics().instructions, stop.pc, disassemble(stop.word, stop.pc));
      return kHostError;
    default: return kHostError;
  }
}

// Options and a budget from the command line, or the first thing wrong with it.
struct Settings {
  Options options;
  Program program;
  std::uint64_t budget = Machine::kNoLimit;
};

Result<Settings> settings_of(const RunArguments& arguments, const std::vector<std::string>& command) {
  Settings settings;
  if (command.empty()) return Error{"run: which program? (kvrm run [OPTIONS] PROGRAM [ARGS...])"};
  settings.program.path = command.front();
  if (settings.program.path.starts_with("-")) {
    return Error{"run: no option " + settings.program.path + " (see kvrm run --help)"};
  }
  settings.program.args.assign(command.begin() + 1, command.end());
  settings.program.env = arguments.env;
  for (const std::string& pair : arguments.env) {
    if (pair.find('=') == std::string::npos || pair[0] == '=') return Error{"--env takes K=V, not '" + pair + "'"};
  }
  settings.program.root = arguments.root;
  settings.program.verbose = arguments.verbose;
  settings.program.clock = arguments.clock == "host" ? Clock::kHost : Clock::kVirtual;
  settings.options.device = arguments.device == "cuda"  ? Device::kCuda
                            : arguments.device == "cpu" ? Device::kCpu
                                                        : Device::kAuto;
  settings.options.engine = arguments.engine == "jit"      ? Engine::kJit
                            : arguments.engine == "interp" ? Engine::kInterpreter
                                                           : Engine::kAuto;
  const auto lanes = parse_count(arguments.lanes);
  if (!lanes || *lanes == 0 || *lanes > 1u << 24) return Error{"--lanes takes a number from 1 to 16777216"};
  settings.options.lanes = static_cast<unsigned>(*lanes);
  const auto memory = parse_size(arguments.memory);
  if (!memory || *memory == 0) return Error{"--memory takes a size such as 512M or 4G, not '" + arguments.memory + "'"};
  settings.options.memory_limit = *memory;
  const auto seed = parse_count(arguments.seed);
  if (!seed) return Error{"--seed takes a number, not '" + arguments.seed + "'"};
  settings.program.seed = *seed;
  if (!arguments.max_instructions.empty()) {
    const auto budget = parse_count(arguments.max_instructions);
    if (!budget) return Error{"--max-instructions takes a number, not '" + arguments.max_instructions + "'"};
    settings.budget = *budget;
  }
  return settings;
}

int run(const RunArguments& arguments, const std::vector<std::string>& command) {
  auto settings = settings_of(arguments, command);
  if (!settings) return host_error(settings.error().message);
  auto machine = Machine::create(settings->options);
  if (!machine) return host_error(machine.error().message);
  if (auto loaded = machine->load_program(settings->program); !loaded) return host_error(loaded.error().message);

  running.store(&*machine);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const Stop stop = machine->run(settings->budget);
  running.store(nullptr);

  const int status = exit_status(*machine, stop);
  if (!arguments.stats.empty()) print_statistics(*machine, stop, arguments.stats == "json");
  return status;
}

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Run a static ARM64 Linux program: kvrm run [OPTIONS] PROGRAM [ARGS...]");
  command->prefix_command();
  command->add_option("--device", arguments->device, "Where the machine lives")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--engine", arguments->engine, "How it runs code")
      ->check(CLI::IsMember({"auto", "interp", "jit"}))
      ->capture_default_str();
  command->add_option("--lanes", arguments->lanes, "How many machines run the program")->capture_default_str();
  command->add_option("--max-instructions", arguments->max_instructions,
                      "Stop after exactly this many instructions (1000000, 1e9)");
  command->add_option("--memory", arguments->memory, "The guest's memory limit (512M, 4G)")->capture_default_str();
  command->add_option("--root", arguments->root,
                      "The one folder the guest may see, as /, read and write (default: none)");
  command->add_option("--env", arguments->env, "Set an environment variable, K=V; may be repeated (default: none)")
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--clock", arguments->clock,
                   "virtual: one instruction is one nanosecond, every run the same; host: real time")
      ->check(CLI::IsMember({"virtual", "host"}))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of the guest's random numbers")->capture_default_str();
  command->add_flag("--stats{text}", arguments->stats,
                    "Statistics on stderr at the end; --stats=json writes one JSON object as the last line");
  command->add_flag("--verbose", arguments->verbose, "Name unknown system calls on stderr");
  command->footer(
      "The guest's stdin, stdout and stderr are yours; the exit status is the guest's. A guest killed by signal N\n"
      "gives 128+N; a problem on this side (no such file, a bad flag, --max-instructions reached) gives 125.\n"
      "Everything after PROGRAM belongs to the program.");
  command->callback([arguments, command, &chosen] {
    chosen = [arguments, command] { return run(*arguments, command->remaining()); };
  });
}

}  // namespace kvrm::cli
