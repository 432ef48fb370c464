#include "machine_options.h"

#include <nlohmann/json.hpp>

#include "kvrm/cache.h"
#include "kvrm/inspect.h"
#include "kvrm/models.h"
#include "options.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

Device device_named(const std::string& name) {
  return name == "cuda" ? Device::kCuda : name == "cpu" ? Device::kCpu : Device::kAuto;
}

Engine engine_named(const std::string& name) {
  return name == "jit" ? Engine::kJit : name == "interp" ? Engine::kInterpreter : Engine::kAuto;
}

Dispatch dispatch_named(const std::string& name) {
  return name == "neural" ? Dispatch::kNeural : name == "hybrid" ? Dispatch::kHybrid : Dispatch::kTable;
}

void add_dispatch_options(CommandSpec command, MachineArguments& arguments) {
  command
      .option("--dispatch", arguments.dispatch,
              "Who routes an instruction to its class: the table, the network (neural), or the table with the "
              "network's answers recorded (hybrid)")
      .one_of({"table", "neural", "hybrid"})
      .show_default();
  command.option("--weights", arguments.weights,
                 "Weights of the dispatch network, a .npy file (default: those that come with kvrm)");
  command.flag("--unverified", arguments.unverified,
               "Let a network decide whose weights were not verified; wrong classes raise Undefined");
  command.flag("--dispatch-every", arguments.dispatch_every,
               "Route anew whenever an instruction runs, not once when it is decoded: slow, to measure it");
}

void add_prefetch_options(CommandSpec command, MachineArguments& arguments) {
  command
      .option("--prefetch", arguments.prefetch,
              "What lanes on a GPU prefetch: nothing, what their counters choose, or what the network chose (see "
              "--prefetch-choices); results stay the same. Not measured yet; on the CPU device it does nothing")
      .one_of({"off", "counters", "network"})
      .show_default();
  command.option("--prefetch-choices", arguments.prefetch_choices,
                 "The network's choices for the program, a file that kvrm models prefetch wrote");
}

// The file that kvrm models prefetch writes.
Result<std::vector<PrefetchChoice>> read_choices(const std::string& path) try {
  auto text = read_file(path);
  if (!text) return text.error();
  std::vector<PrefetchChoice> choices;
  const auto json = nlohmann::json::parse(text->begin(), text->end());
  for (const auto& one : json.at("choices")) choices.push_back({one.at("pc"), one.at("policy"), one.at("distance")});
  return choices;
} catch (const nlohmann::json::exception& error) {
  return Error{path + ": " + error.what()};
}

Result<void> set_prefetch(const MachineArguments& arguments, Options& options) {
  options.neural.prefetch = arguments.prefetch == "counters"  ? Prefetch::kCounters
                            : arguments.prefetch == "network" ? Prefetch::kNetwork
                                                              : Prefetch::kOff;
  const bool is_network = options.neural.prefetch == Prefetch::kNetwork;
  if (is_network == arguments.prefetch_choices.empty())
    return Error{"--prefetch network and --prefetch-choices go together"};
  if (!is_network) return {};
  auto choices = read_choices(arguments.prefetch_choices);
  if (!choices) return choices.error();
  options.neural.prefetch_choices = std::move(*choices);
  return {};
}

Result<void> set_dispatch(const MachineArguments& arguments, Options& options) {
  options.neural.dispatch = dispatch_named(arguments.dispatch);
  options.neural.unverified = arguments.unverified;
  options.neural.every = arguments.dispatch_every;
  options.notice = [](const std::string& line) { say("kvrm: {}\n", line); };
  if (options.neural.dispatch == Dispatch::kTable) {
    if (!arguments.weights.empty()) return Error{"--weights needs --dispatch neural or hybrid"};
    if (arguments.unverified) return Error{"--unverified needs --dispatch neural"};
    return {};
  }
  if (arguments.weights.empty()) return {};
  auto weights = load_weights(arguments.weights);
  if (!weights) return weights.error();
  options.neural.weights = *weights;
  return {};
}

// The variables as given, each once: of two with the same name the last one counts.
Result<std::vector<std::string>> environment_of(const std::vector<std::string>& pairs) {
  std::vector<std::string> env;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return Error{"--env takes K=V, not '" + pair + "'"};
    const std::string name = pair.substr(0, equals + 1);
    std::erase_if(env, [&](const std::string& before) { return before.starts_with(name); });
    env.push_back(pair);
  }
  return env;
}

Result<void> set_loop_ranking(const MachineArguments& arguments, NeuralOptions& neural) {
  if (arguments.loop_ranking == "tree") neural.loop_ranking = LoopRanking::kTree;
  if (arguments.loop_ranking == "network") neural.loop_ranking = LoopRanking::kNetwork;
  if (arguments.loop_weights.empty()) return {};
  if (arguments.loop_ranking != "network") return Error{"--loop-weights needs --loop-ranking network"};
  auto weights = load_weights(arguments.loop_weights);
  if (!weights) return weights.error();
  neural.loop_weights = std::move(*weights);
  return {};
}

}  // namespace

void add_machine_options(CommandSpec command, MachineArguments& arguments) {
  command.option("--device", arguments.device, "Where the machine lives")
      .one_of({"auto", "cpu", "cuda"})
      .show_default();
  command.option("--engine", arguments.engine, "How it runs code: the interpreter, translated code, or both as it pays")
      .one_of({"auto", "interp", "jit"})
      .show_default();
  add_dispatch_options(command, arguments);
  add_prefetch_options(command, arguments);
  command.option("--jit-threshold", arguments.jit_threshold,
                 "Translate code when so many samples have reached it, whatever that costs; 0: everything, before it "
                 "first runs (default: when interpreting it has taken as long as translating it will)");
  command
      .option("--jit-tiers", arguments.jit_tiers,
              "What the translator makes on the CPU: quick code at once, optimized regions, or one after the other")
      .one_of({"all", "quick", "regions"})
      .show_default();
  command.option("--jit-budget", arguments.jit_budget, "Seconds of compiling the translator may take in all");
  command
      .option(
          "--accelerate", arguments.accelerate,
          "Run many iterations at once of loops whose effect is proved; results stay the same. auto: on the CPU, where "
          "proofs take 1.5 percent of the time; on: every hot loop is proved at once, on a GPU too")
      .one_of({"auto", "on", "off"})
      .show_default();
  command
      .option("--loop-ranking", arguments.loop_ranking,
              "With --accelerate on: which hot loops are proved first; results stay the same")
      .one_of({"hot", "tree", "network"})
      .show_default();
  command.option("--loop-weights", arguments.loop_weights,
                 "With --loop-ranking network: a weight file of the loop detector instead of the built-in weights");
  command.option("--max-instructions", arguments.max_instructions,
                 "Stop each program after exactly this many instructions (1000000, 1e9)");
  command.option("--memory", arguments.memory, "A guest's memory limit (512M, 4G)").show_default();
  command.option("--root", arguments.root, "The one folder the guest may see, as /, read and write (default: none)");
  command.repeated("--env", arguments.env,
                   "Set an environment variable, K=V; may be repeated, the last of a name counts (default: none)");
  command
      .option("--clock", arguments.clock,
              "virtual: one instruction is one nanosecond, every run the same; host: real time")
      .one_of({"virtual", "host"})
      .show_default();
  command.option("--seed", arguments.seed, "Seed of the guest's random numbers").show_default();
  command
      .flag("--stats{text}", arguments.stats,
            "Statistics on stderr at the end; --stats=json writes one JSON object as the last line")
      .one_of({"text", "json"});
  command.flag("--perf-map", arguments.perf_map,
               "Write /tmp/perf-PID.map, so that perf(1) can name translated code (CPU device)");
  command.flag("--no-windows", arguments.no_windows,
               "Give guests no window of host or device memory: translated code looks up the page of each access");
  command.flag("--verbose", arguments.verbose,
               "Name unknown system calls on stderr, say what the kernel confines kvrm to, and why the code cache "
               "is off");
  command.flag("--no-confine", arguments.no_confine,
               "Do not let the kernel confine kvrm itself while guests run (Landlock, seccomp; see kvrm info)");
}

Result<Settings> settings_of(const MachineArguments& arguments, const std::vector<std::string>& command) {
  Settings settings;
  if (!command.empty()) {
    settings.program.path = command.front();
    settings.program.args.assign(command.begin() + 1, command.end());
  }
  auto env = environment_of(arguments.env);
  if (!env) return env.error();
  settings.program.env = std::move(*env);
  int* const descriptors[] = {&settings.program.standard_input, &settings.program.standard_output,
                              &settings.program.standard_error};
  for (int i = 0; i < 3; ++i) *descriptors[i] = was_closed(i) ? -1 : i;
  settings.program.root = arguments.root;
  settings.program.verbose = arguments.verbose;
  settings.program.strace = arguments.strace;
  settings.program.clock = arguments.clock == "host" ? Clock::kHost : Clock::kVirtual;
  settings.options.device = device_named(arguments.device);
  settings.options.engine = engine_named(arguments.engine);
  settings.options.perf_map = arguments.perf_map;
  settings.options.accelerate = arguments.accelerate != "off";
  if (arguments.accelerate == "on") settings.options.proof_share = 1;
  if (auto ranked = set_loop_ranking(arguments, settings.options.neural); !ranked) return ranked.error();
  settings.options.windows = !arguments.no_windows;
  settings.options.abandon_compilers = true;  // main() ends with _Exit
  if (const std::string problem = code_cache_problem(arguments.root); !problem.empty()) {
    settings.options.code_cache = false;
    if (arguments.verbose) say("kvrm: the code cache is off: {}\n", problem);
  }
  if (auto set = set_dispatch(arguments, settings.options); !set) return set.error();
  if (auto set = set_prefetch(arguments, settings.options); !set) return set.error();
  if (!arguments.jit_threshold.empty()) {
    const auto threshold = parse_count(arguments.jit_threshold);
    if (!threshold || *threshold > 1u << 30) {
      return Error{"--jit-threshold takes a number, not '" + arguments.jit_threshold + "'"};
    }
    settings.options.jit_threshold = static_cast<unsigned>(*threshold);
  }
  settings.options.jit_tiers = arguments.jit_tiers == "quick"     ? JitTiers::kQuick
                               : arguments.jit_tiers == "regions" ? JitTiers::kRegions
                                                                  : JitTiers::kAll;
  if (!arguments.jit_budget.empty()) {
    settings.options.jit_budget = parse_seconds(arguments.jit_budget);
    if (!settings.options.jit_budget) {
      return Error{"--jit-budget takes seconds such as 2 or 0.5, not '" + arguments.jit_budget + "'"};
    }
  }
  if (!arguments.lanes.empty()) {
    const auto lanes = parse_count(arguments.lanes);
    if (!lanes || *lanes == 0 || *lanes > 1u << 24) return Error{"--lanes takes a number from 1 to 16777216"};
    settings.options.lanes = static_cast<unsigned>(*lanes);
  }
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

}  // namespace kvrm::cli
