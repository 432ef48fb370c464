// kvrm info: what this machine is and what it can run on.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kvrm/machine.h"

namespace kvrm::cli {
namespace {

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
        {"devices",
         {{{"name", "cpu"}, {"available", true}, {"threads", facts.host_threads}},
          {{"name", "cuda"}, {"available", false}, {"reason", "not in this build yet"}}}},
        {"engines",
         {{{"name", "interp"}, {"available", true}},
          {{"name", "jit"}, {"available", false}, {"reason", "not in this build yet"}}}},
    };
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("kvrm {} ({})\n", version(), KVRM_BUILD_TYPE);
  fmt::print("machine   Neoverse N1 at EL0, HWCAP {:#x}\n", facts.hwcap);
  fmt::print("table     {} encodings, {} with semantics\n", facts.rows, facts.implemented_rows);
  fmt::print("devices   cpu ({} threads); cuda: not in this build yet\n", facts.host_threads);
  fmt::print("engines   interp; jit: not in this build yet\n");
  return 0;
}

}  // namespace

void add_info(CLI::App& app, Command& chosen) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("info", "Show the machine, its devices and engines");
  command->add_flag("--json", *as_json, "As one JSON object");
  command->callback([as_json, &chosen] { chosen = [as_json] { return info(*as_json); }; });
}

}  // namespace kvrm::cli
