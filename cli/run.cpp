// kvrm run: a Linux program from start to end.
#include <csignal>
#include <cstring>
#include <memory>

#include "check.h"
#include "command_line.h"
#include "commands.h"
#include "confine.h"
#include "formatted.h"
#include "interrupt.h"
#include "kvrm/machine.h"
#include "machine_options.h"
#include "progress.h"
#include "run_lanes.h"
#include "statistics.h"
#include "streams.h"
#include "symbols.h"

namespace kvrm::cli {
namespace {

void print_registers(const Machine& machine) {
  const Registers registers = machine.registers();
  std::string text;
  for (unsigned i = 0; i < 31; ++i) {
    text += formatted("{}{:>4} {:016x}", i % 4 == 0 ? "kvrm:" : "", formatted("x{}", i), registers.x[i]);
    if (i % 4 == 3) text += '\n';
  }
  const auto flag = [&](unsigned bit, char name) { return registers.nzcv >> bit & 1 ? name : '-'; };
  say("{}{:>4} {:016x}\nkvrm:{:>4} {:016x}  nzcv {}{}{}{}\n", text, "sp", registers.sp, "pc", registers.pc,
      flag(31, 'N'), flag(30, 'Z'), flag(29, 'C'), flag(28, 'V'));
}

void print_death(const Machine& machine, const Stop& stop, const std::string& program) {
  say("kvrm: the program was killed by signal {} ({}) at pc {:#x}: {}\n", stop.signal, strsignal(stop.signal), stop.pc,
      disassemble(stop.word, stop.pc));
  if (!stop.message.empty()) say("kvrm: {}\n", stop.message);
  if (const std::string routine = routine_at(program, stop.pc); !routine.empty()) say("kvrm: in {}\n", routine);
  print_registers(machine);
}

int exit_status(const Machine& machine, const Stop& stop, const std::string& program) {
  switch (stop.reason) {
    case StopReason::kExit: return stop.exit_status;
    case StopReason::kSignal:
      if (stop.signal != SIGPIPE) print_death(machine, stop, program);  // a reader that went away is no news
      return 128 + stop.signal;
    case StopReason::kCancelled: say("kvrm: interrupted at pc {:#x}\n", stop.pc); return Interrupt::status();
    case StopReason::kBudget:
      say("kvrm: stopped after {} instructions (--max-instructions) at pc {:#x}: {}\n",
          machine.statistics().instructions, stop.pc, disassemble(stop.word, stop.pc));
      return kHostError;
    default: return host_error(stop.message.empty() ? to_string(stop.reason) : stop.message);
  }
}

int run_one(const MachineArguments& arguments, const Settings& settings) {
  auto machine = Machine::create(settings.options);
  if (!machine) return host_error(machine.error().message);
  if (auto loaded = machine->load_program(settings.program); !loaded) return host_error(loaded.error().message);
  confine(arguments, settings, machine->statistics().device);
  const auto run = [&] {
    const Interrupt interrupt(*machine);
    const ProgressLine progress(arguments.progress, [&] { return machine->poll(); });
    return machine->run(settings.budget);
  };
  const Stop stop = run();
  const int status = exit_status(*machine, stop, settings.program.path);
  if (!arguments.stats.empty()) {
    print_statistics(machine->statistics(), {.stop = &stop}, arguments.stats == "json");
  }
  return status;
}

int run(const MachineArguments& arguments, const Result<std::vector<std::string>>& command) {
  if (!command) return host_error("run: " + command.error().message);
  auto settings = settings_of(arguments, command.value());
  if (!settings) return host_error("run: " + settings.error().message);
  if (command.value().empty()) return host_error("run: which program? (kvrm run [OPTIONS] PROGRAM [ARGS...])");
  if (!arguments.check.empty()) {
    if (settings->options.lanes != 1) return host_error("run: --check is for one lane");
    return run_check(arguments, *settings);
  }
  return settings->options.lanes == 1 ? run_one(arguments, *settings) : run_lanes(arguments, *settings);
}

}  // namespace

void add_run(CommandSpec program, const std::vector<std::string>& separated, Command& chosen) {
  auto arguments = std::make_shared<MachineArguments>();
  const CommandSpec command =
      program.add_command("run", "Run a static ARM64 Linux program: kvrm run [OPTIONS] PROGRAM [ARGS...]");
  command.takes_guest();
  add_machine_options(command, *arguments);
  command.option("--lanes", arguments->lanes, "How many machines run the program, each with all of stdin")
      .show_default("1");
  command.flag("--lane-stats", arguments->lane_stats,
               "With --stats: how each lane's instructions were dispatched, too (CPU device)");
  command.option("--check", arguments->check,
                 "Run the interpreter beside the translator, compare them every so many instructions, and stop at "
                 "the first difference. Files below --root are written by both");
  command.flag("--strace", arguments->strace,
               "Write the guest's system calls and signals to stderr as strace does; with --lanes after the lane");
  command.flag("--progress", arguments->progress, "A live line on stderr: instructions, rate, lanes");
  command.footer(
      "The guest's stdin, stdout and stderr are yours; the exit status is the guest's. A guest killed by signal N\n"
      "gives 128+N; a problem on this side (no such file, a bad flag, --max-instructions reached) gives 125.\n"
      "With --lanes the lanes' outputs come one after the other; the status is the first lane's that is not 0.\n"
      "Everything after PROGRAM belongs to the program; -- before it ends kvrm's own options.");
  command.on_parsed([arguments, command, &separated, &chosen] {
    chosen = [arguments, command, &separated] { return run(*arguments, command.guest_command(separated)); };
  });
}

}  // namespace kvrm::cli
