// Runs a static ARM64 Linux program and says what it cost: run_program PROGRAM [ARGUMENTS]
#include <kvrm/machine.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_program PROGRAM [ARGUMENTS]\n");
    return 2;
  }
  kvrm::Program program;
  program.path = argv[1];
  program.args.assign(argv + 2, argv + argc);

  auto machine = kvrm::Machine::create();
  if (!machine) {
    std::fprintf(stderr, "run_program: %s\n", machine.error().message.c_str());
    return 1;
  }
  if (const auto loaded = machine->load_program(program); !loaded) {
    std::fprintf(stderr, "run_program: %s\n", loaded.error().message.c_str());
    return 1;
  }

  const kvrm::Stop stop = machine->run();
  const kvrm::Statistics statistics = machine->statistics();
  std::fprintf(stderr, "%s: %" PRIu64 " instructions in %.3f s on %s, %" PRIu64 " system calls, %" PRIu64 " KiB\n",
               kvrm::to_string(stop.reason), statistics.instructions, statistics.seconds, statistics.device.c_str(),
               statistics.system_calls, statistics.private_bytes / 1024);
  if (!stop.message.empty()) std::fprintf(stderr, "%s\n", stop.message.c_str());
  return stop.reason == kvrm::StopReason::kExit ? stop.exit_status : 1;
}
