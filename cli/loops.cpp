// kvrm loops: a program's hot innermost loops, and what the prover says of them.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "commands.h"
#include "confine.h"
#include "formatted.h"
#include "interrupt.h"
#include "kvrm/inspect.h"
#include "kvrm/loops.h"
#include "kvrm/machine.h"
#include "machine_options.h"
#include "streams.h"
#include "units.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LoopsArguments {
  MachineArguments machine;
  bool json = false;
  bool profile = false;
  bool is_static = false;
};

// The share of all instructions that ran in the loop: those in bulk steps are counted, the others estimated from
// samples.
double share_of(const Loop& loop, const Statistics& statistics) {
  const LoopStatistics& loops = statistics.loops;
  if (statistics.instructions == 0) return 0;
  const auto all = static_cast<double>(statistics.instructions);
  const double sampled =
      loops.sampled == 0 ? 0
                         : static_cast<double>(loop.samples * loop.words.size()) / static_cast<double>(loops.sampled);
  const double one_by_one = all - static_cast<double>(std::min(loops.instructions, statistics.instructions));
  return std::min(1.0, (static_cast<double>(loop.instructions) + std::min(sampled, 1.0) * one_by_one) / all);
}

double trips_of(const Loop& loop) {
  return loop.steps == 0 ? 0 : static_cast<double>(loop.iterations) / static_cast<double>(loop.steps);
}

Json as_json(const Statistics& statistics) {
  const LoopStatistics& loops = statistics.loops;
  Json list = Json::array();
  for (const Loop& loop : loops.hottest) {
    Json code = Json::array();
    for (std::size_t i = 0; i < loop.words.size(); ++i) {
      const std::uint64_t address = loop.address + i * 4;
      code.push_back({{"address", address}, {"word", loop.words[i]}, {"text", disassemble(loop.words[i], address)}});
    }
    Json one = {{"address", loop.address}, {"proved", loop.proved}};
    if (loop.proved) {
      one["kind"] = loop.kind;
    } else {
      one["reason"] = loop.reason;
    }
    one["share"] = share_of(loop, statistics);
    one["samples"] = loop.samples;
    one["steps"] = loop.steps;
    one["iterations"] = loop.iterations;
    one["trips"] = trips_of(loop);
    one["instructions"] = loop.instructions;
    one["left_out"] = loop.left_out;
    one["code"] = std::move(code);
    list.push_back(std::move(one));
  }
  return {{"instructions", statistics.instructions},
          {"found", loops.found},
          {"proposed", loops.proposed},
          {"proved", loops.proved},
          {"left_out", loops.left_out},
          {"refused", loops.refused},
          {"bulk_instructions", loops.instructions},
          {"loops", std::move(list)}};
}

void print_loop(const Loop& loop, const Statistics& statistics) {
  std::string what = loop.proved ? loop.kind : "refused: " + loop.reason;
  if (loop.proved) {
    what += loop.steps == 0 ? ", no bulk step"
                            : formatted(", {:.0f} iterations a bulk step, {} instructions in {} steps", trips_of(loop),
                                        whole_number(loop.instructions), whole_number(loop.steps));
    if (loop.left_out != 0) what += ", left out: its steps were too short to pay";
  }
  print("{:#x}  {:.1f} %  {}\n", loop.address, 100 * share_of(loop, statistics), what);
  for (std::size_t i = 0; i < loop.words.size(); ++i) {
    const std::uint64_t address = loop.address + i * 4;
    print("{:12x}:  {:08x}  {}\n", address, loop.words[i], disassemble(loop.words[i], address));
  }
}

void print_loops(const Statistics& statistics) {
  const LoopStatistics& loops = statistics.loops;
  std::vector<const Loop*> sorted;
  for (const Loop& loop : loops.hottest) sorted.push_back(&loop);
  std::ranges::sort(sorted, [&](const Loop* a, const Loop* b) {
    const double one = share_of(*a, statistics), other = share_of(*b, statistics);
    return one != other ? one > other : a->address < b->address;
  });
  const double all = static_cast<double>(std::max<std::uint64_t>(statistics.instructions, 1));
  print("{} loops found, {} proposed, {} proved; {:.1f} % of {} instructions in bulk steps\n", loops.found,
        loops.proposed, loops.proved, 100 * static_cast<double>(loops.instructions) / all,
        whole_number(statistics.instructions));
  for (const Loop* loop : sorted) print_loop(*loop, statistics);
}

Json proof_json(const LoopProof& proof) {
  Json json = {{"proved", proof.proved}};
  if (proof.proved) {
    json["kind"] = proof.kind;
  } else {
    json["reason"] = proof.reason;
  }
  json.update({{"type", proof.type}, {"counter", proof.counter}, {"nodes", proof.nodes}, {"seconds", proof.seconds}});
  return json;
}

// The loops in the code of files, one JSON object a line.
int show_static(const std::vector<std::string>& files) {
  auto prover = LoopProver::create();
  if (!prover) return host_error("loops: " + prover.error().message);
  for (const std::string& file : files) {
    auto found = find_loops(file);
    if (!found) return host_error(found.error().message);
    for (const StaticLoop& one : found.value()) {
      Json json = {{"file", file}, {"routine", one.routine}, {"address", one.loop.address}, {"words", one.loop.words}};
      json.update(proof_json(prover->prove(one.loop)));
      print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  return 0;
}

// The loops that were counted, one JSON object a line, those with the most instructions first.
int show_profile(const Statistics& statistics) {
  auto prover = LoopProver::create();
  if (!prover) return host_error("loops: " + prover.error().message);
  std::vector<const Loop*> sorted;
  for (const Loop& loop : statistics.loops.hottest) sorted.push_back(&loop);
  const auto weight = [](const Loop* loop) { return loop->samples * loop->words.size(); };
  std::ranges::sort(sorted, [&](const Loop* a, const Loop* b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a->address < b->address;
  });
  for (const Loop* loop : sorted) {
    Json runs = Json::array();
    for (const LoopRun& run : loop->runs) {
      Json one = {{"first", run.first}, {"left", run.left}};
      if (run.second) one["second"] = *run.second;
      runs.push_back(std::move(one));
    }
    Json json = {{"address", loop->address},
                 {"words", loop->words},
                 {"iterations", loop->samples},
                 {"entries", loop->entries},
                 {"instructions", statistics.instructions},
                 {"runs", std::move(runs)}};
    json.update(proof_json(prover->prove(*loop)));
    print("{}\n", json.dump());
  }
  return 0;
}

int run(const LoopsArguments& arguments, const Result<std::vector<std::string>>& command) {
  if (!command) return host_error("loops: " + command.error().message);
  if (arguments.is_static) return show_static(command.value());
  auto settings = settings_of(arguments.machine, command.value());
  if (!settings) return host_error("loops: " + settings.error().message);
  if (command.value().empty()) return host_error("loops: which program? (kvrm loops [OPTIONS] PROGRAM [ARGS...])");
  if (settings->options.device != Device::kCuda || arguments.profile) settings->options.device = Device::kCpu;
  settings->options.accelerate = !arguments.profile;
  settings->options.proof_share = 1;
  settings->options.profile_loops = arguments.profile;
  settings->program.standard_output = settings->program.standard_error;
  std::string problem;
  settings->options.notice = [&](const std::string& line) { problem = line; };
  auto machine = Machine::create(settings->options);
  if (!machine) return host_error(machine.error().message);
  if (!problem.empty()) return host_error("loops: " + problem);
  if (auto loaded = machine->load_program(settings->program); !loaded) return host_error(loaded.error().message);
  confine(arguments.machine, *settings, machine->statistics().device);
  const Stop stop = [&] {
    const Interrupt interrupt(*machine);
    return machine->run(settings->budget);
  }();
  if (stop.reason == StopReason::kCancelled) return Interrupt::status();
  const Statistics statistics = machine->statistics();
  if (arguments.profile) return show_profile(statistics);
  if (arguments.json) {
    print("{}\n", as_json(statistics).dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_loops(statistics);
  }
  return 0;
}

}  // namespace

void add_loops(CommandSpec program, const std::vector<std::string>& separated, Command& chosen) {
  auto arguments = std::make_shared<LoopsArguments>();
  const CommandSpec command =
      program.add_command("loops", "Run a program and show its hot loops: kvrm loops [OPTIONS] PROGRAM [ARGS...]");
  command.takes_guest();
  add_machine_options(command, arguments->machine);
  command.flag("--json", arguments->json, "One JSON object");
  command.flag("--profile", arguments->profile,
               "Trace every instruction and count all loops (slow), as JSON: registers of the first iterations, trips");
  command.flag("--static", arguments->is_static,
               "Run nothing: prove the loops in the code of FILES (programs, archives, object files), as JSON");
  command.footer(
      "Runs the program with --accelerate on: on the CPU, or on a GPU with --device cuda. The guest's stdout goes to\n"
      "stderr; the report is on stdout.\n"
      "The status is 0 however the guest ends; a problem on this side gives 125.");
  command.on_parsed([arguments, command, &separated, &chosen] {
    chosen = [arguments, command, &separated] { return run(*arguments, command.guest_command(separated)); };
  });
}

}  // namespace kvrm::cli
