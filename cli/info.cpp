// kvrm info: what this machine is and what it can run on.
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "confine.h"
#include "formatted.h"
#include "kvrm/machine.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

nlohmann::ordered_json gpus_as_json(const Information& facts) {
  auto list = nlohmann::ordered_json::array();
  for (const GpuInformation& gpu : facts.gpus) {
    nlohmann::ordered_json entry = {
        {"name", gpu.name},
        {"compute_capability", formatted("{}.{}", gpu.compute_major, gpu.compute_minor)},
        {"memory", gpu.memory},
        {"multiprocessors", gpu.multiprocessors},
        {"clock_mhz", gpu.clock_mhz},
        {"limits_kernel_time", gpu.limits_kernel_time},
        {"code", gpu.has_code ? "cubin" : "ptx"},
        {"available", gpu.problem.empty()},
    };
    if (!gpu.problem.empty()) entry["reason"] = gpu.problem;
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json cuda_as_json(const Information& facts) {
  nlohmann::ordered_json json = {{"name", "cuda"}, {"available", facts.gpu_problem.empty()}};
  if (!facts.gpu_problem.empty()) json["reason"] = facts.gpu_problem;
  if (!facts.gpu_driver.empty()) json["driver"] = facts.gpu_driver;
  json["gpus"] = gpus_as_json(facts);
  return json;
}

nlohmann::ordered_json translator_as_json(const Information& facts) {
  nlohmann::ordered_json json = {{"name", "jit"}, {"available", facts.translator_problem.empty()}};
  if (!facts.translator_problem.empty()) json["reason"] = facts.translator_problem;
  return json;
}

nlohmann::ordered_json confinement_as_json() {
  const ConfinementFacts facts = confinement();
  nlohmann::ordered_json landlock = {{"available", facts.landlock.ok()}};
  if (facts.landlock) {
    landlock["abi"] = facts.landlock.value();
  } else {
    landlock["reason"] = facts.landlock.error().message;
  }
  nlohmann::ordered_json seccomp = {{"available", facts.seccomp.ok()}};
  if (!facts.seccomp) seccomp["reason"] = facts.seccomp.error().message;
  landlock["devices"] = {"cpu"};
  seccomp["devices"] = {"cpu", "cuda"};
  return {{"landlock", landlock}, {"seccomp", seccomp}};
}

std::string confinement_as_text() {
  const ConfinementFacts facts = confinement();
  const auto landlock = facts.landlock ? formatted(" ABI {} (cpu device, without MPI)", facts.landlock.value())
                                       : ": " + facts.landlock.error().message;
  return formatted("landlock{}; seccomp{}", landlock, facts.seccomp ? "" : ": " + facts.seccomp.error().message);
}

void print_gpus(const Information& facts) {
  for (std::size_t number = 0; number < facts.gpus.size(); ++number) {
    const GpuInformation& gpu = facts.gpus[number];
    print("gpu {:<5} {}: compute capability {}.{}, {} multiprocessors, {:.1f} GiB, driver CUDA {}, {}{}\n", number,
          gpu.name, gpu.compute_major, gpu.compute_minor, gpu.multiprocessors,
          static_cast<double>(gpu.memory) / (1 << 30), facts.gpu_driver,
          !gpu.problem.empty() ? "cannot be used: " + gpu.problem
          : gpu.has_code       ? "cubin embedded"
                               : "no cubin: the first start compiles the PTX",
          gpu.limits_kernel_time ? ", limits kernel time" : "");
  }
}

int info(bool as_json) {
  const Information facts = information();
  if (as_json) {
    const nlohmann::ordered_json json = {
        {"version", version()},
        {"build", KVRM_BUILD_TYPE},
        {"machine", "Neoverse N1, EL0"},
        {"hwcap", facts.hwcap},
        {"rows", facts.rows},
        {"rows_implemented", facts.implemented_rows},
        {"devices", {{{"name", "cpu"}, {"available", true}, {"threads", facts.host_threads}}, cuda_as_json(facts)}},
        {"engines", {{{"name", "interp"}, {"available", true}}, translator_as_json(facts)}},
        {"confinement", confinement_as_json()},
    };
    print("{}\n", json.dump(2));
    return 0;
  }
  print("kvrm {} ({})\n", version(), KVRM_BUILD_TYPE);
  print("machine   Neoverse N1 at EL0, HWCAP {:#x}\n", facts.hwcap);
  print("table     {} encodings, {} with semantics\n", facts.rows, facts.implemented_rows);
  print("devices   cpu ({} threads); cuda{}\n", facts.host_threads,
        facts.gpu_problem.empty() ? "" : ": " + facts.gpu_problem);
  print_gpus(facts);
  print("engines   interp; jit{}\n", facts.translator_problem.empty() ? " (x86-64)" : ": " + facts.translator_problem);
  print("confined  {}\n", confinement_as_text());
  return 0;
}

}  // namespace

void add_info(CommandSpec program, Command& chosen) {
  auto as_json = std::make_shared<bool>(false);
  const CommandSpec command = program.add_command("info", "Show the machine, its devices and engines");
  command.flag("--json", *as_json, "As one JSON object");
  command.on_parsed([as_json, &chosen] { chosen = [as_json] { return info(*as_json); }; });
}

}  // namespace kvrm::cli
