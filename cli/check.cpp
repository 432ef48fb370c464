#include "check.h"

#include <unistd.h>

#include <algorithm>

#include "commands.h"
#include "confine.h"
#include "formatted.h"
#include "interrupt.h"
#include "kvrm/machine.h"
#include "kvrm/program_file.h"
#include "options.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

struct Side {
  Machine machine;
  Stop stop;
  std::string output, errors;
};

Result<Side> make_side(const Settings& settings, const ProgramFilePointer& file, Engine engine,
                       const std::string& input) {
  Options options = settings.options;
  options.engine = engine;
  options.device = Device::kCpu;
  options.accelerate = options.accelerate && engine != Engine::kInterpreter;
  Program program = settings.program;
  program.file = file;
  program.input = input;
  program.keep_output = true;
  program.strace = program.strace && engine == Engine::kInterpreter;  // both make the same calls
  auto machine = Machine::create(options);
  if (!machine) return machine.error();
  if (auto loaded = machine->load_program(program); !loaded) return loaded.error();
  return Side{std::move(*machine), {}, {}, {}};
}

void advance(Side& side, std::uint64_t budget) {
  side.stop = side.machine.run(budget);
  Output output = side.machine.take_output();
  side.output = std::move(output.output);
  side.errors = std::move(output.errors);
}

// What differs first, in words; empty if nothing does.
std::string difference(const Side& interp, const Side& jit) {
  const auto differs = [](const std::string& name, std::uint64_t a, std::uint64_t b) {
    return formatted("{}: interp {:#x}, jit {:#x}", name, a, b);
  };
  if (interp.stop.reason != jit.stop.reason) {
    return formatted("how it stopped: interp {}, jit {}", to_string(interp.stop.reason), to_string(jit.stop.reason));
  }
  if (interp.stop.instructions != jit.stop.instructions) {
    return formatted("instructions: interp {}, jit {}", interp.stop.instructions, jit.stop.instructions);
  }
  const Registers a = interp.machine.registers(), b = jit.machine.registers();
  if (a.pc != b.pc) return differs("pc", a.pc, b.pc);
  for (unsigned i = 0; i < 31; ++i) {
    if (a.x[i] != b.x[i]) return differs(formatted("x{}", i), a.x[i], b.x[i]);
  }
  if (a.sp != b.sp) return differs("sp", a.sp, b.sp);
  if (a.nzcv != b.nzcv) return differs("nzcv", a.nzcv, b.nzcv);
  if (a.fpcr != b.fpcr) return differs("fpcr", a.fpcr, b.fpcr);
  if (a.fpsr != b.fpsr) return differs("fpsr", a.fpsr, b.fpsr);
  if (a.tpidr_el0 != b.tpidr_el0) return differs("tpidr_el0", a.tpidr_el0, b.tpidr_el0);
  for (unsigned i = 0; i < 32; ++i) {
    if (a.v[i].lo != b.v[i].lo) return differs(formatted("v{}.d[0]", i), a.v[i].lo, b.v[i].lo);
    if (a.v[i].hi != b.v[i].hi) return differs(formatted("v{}.d[1]", i), a.v[i].hi, b.v[i].hi);
  }
  if (interp.stop.exit_status != jit.stop.exit_status || interp.stop.signal != jit.stop.signal) {
    return formatted("the end: interp status {} signal {}, jit status {} signal {}", interp.stop.exit_status,
                     interp.stop.signal, jit.stop.exit_status, jit.stop.signal);
  }
  if (interp.output != jit.output || interp.errors != jit.errors) return "what was written";
  return {};
}

}  // namespace

int run_check(const MachineArguments& arguments, const Settings& settings) {
  const auto step = parse_count(arguments.check);
  if (!step || *step == 0) return host_error("run: --check takes a number from 1, not '" + arguments.check + "'");
  const auto input = isatty(STDIN_FILENO) ? Result<std::string>("") : whole_stdin("--check");
  if (!input) return host_error("run: " + input.error().message);
  auto file = ProgramFile::open(settings.program.path);
  if (!file) return host_error(file.error().message);
  auto interp = make_side(settings, *file, Engine::kInterpreter, input.value());
  if (!interp) return host_error(interp.error().message);
  auto jit = make_side(settings, *file, Engine::kJit, input.value());
  if (!jit) return host_error(jit.error().message);
  confine(arguments, settings, "cpu");
  const Interrupt interrupt(jit->machine);
  for (std::uint64_t done = 0;;) {
    const std::uint64_t before_pc = jit->machine.pc();
    const std::uint64_t now = std::min(*step, settings.budget - done);
    advance(*interp, now);
    advance(*jit, now);
    if (jit->stop.reason == StopReason::kCancelled) return Interrupt::status();
    print_text(jit->output);
    say_text(jit->errors);
    if (!flush_output()) return kHostError;
    if (const std::string what = difference(*interp, *jit); !what.empty()) {
      say("kvrm: the engines differ after instruction {} and before or at {}: {}\n", done,
          done + std::max(interp->stop.instructions, jit->stop.instructions), what);
      say("kvrm: they were equal at pc {:#x}; repeat with\n", before_pc);
      for (const char* engine : {"interp", "jit"}) {
        say("kvrm:   kvrm run --engine {} --seed {} --max-instructions {} --stats {}\n", engine, settings.program.seed,
            done + interp->stop.instructions, settings.program.path);
      }
      return kHostError;
    }
    done += jit->stop.instructions;
    const bool over = jit->stop.reason != StopReason::kBudget || done >= settings.budget;
    if (!over) continue;
    say("kvrm: equal over {} instructions, {} regions\n", done, jit->machine.statistics().regions);
    return jit->stop.reason == StopReason::kExit     ? jit->stop.exit_status
           : jit->stop.reason == StopReason::kSignal ? 128 + jit->stop.signal
                                                     : kHostError;
  }
}

}  // namespace kvrm::cli
