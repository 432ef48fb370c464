// One program over many inputs: each line of stdin becomes a job of its own.
//
//   many_inputs PROGRAM < LINES
#include <kvrm/fleet.h>

#include <cstdio>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: many_inputs PROGRAM < LINES\n", stderr), 2;
  kvrm::Options options;
  options.lanes = 64;  // so many at a time
  auto fleet = kvrm::Fleet::create(options);
  if (!fleet) return std::fprintf(stderr, "%s\n", fleet.error().message.c_str()), 1;

  std::vector<kvrm::Job> jobs;
  for (std::string line; std::getline(std::cin, line);) {
    jobs.push_back({jobs.size(), {}, {}, std::make_shared<const std::string>(line + "\n")});
  }
  kvrm::Program program;
  program.path = argv[1];
  const auto ran = fleet->run_jobs(program, jobs, [](kvrm::JobResult&& result) {
    std::printf("%llu: %s %d, %llu instructions, %zu bytes of output\n", static_cast<unsigned long long>(result.index),
                kvrm::to_string(result.stop.reason), result.stop.exit_status,
                static_cast<unsigned long long>(result.stop.instructions), result.output.size());
  });
  if (!ran) return std::fprintf(stderr, "%s\n", ran.error().message.c_str()), 1;
}
