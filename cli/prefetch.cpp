// kvrm models prefetch: the memory oracle's choices for a program.
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kvrm/models.h"
#include "kvrm/prefetch.h"
#include "machine_options.h"
#include "options.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PrefetchArguments {
  std::string weights, out, root;
  std::string skip = "0", accesses = "8e6";
};

Result<WeightsPointer> weights_of(const PrefetchArguments& arguments) {
  return arguments.weights.empty() ? built_in_weights("memory-oracle") : load_weights(arguments.weights);
}

int choose(const PrefetchArguments& arguments, const Result<std::vector<std::string>>& command) {
  if (!command) return host_error(command.error().message);
  if (command.value().empty()) return host_error("models prefetch: which program?");
  Program program;
  program.path = command.value().front();
  program.args.assign(command.value().begin() + 1, command.value().end());
  program.root = arguments.root;
  const auto skip = parse_count(arguments.skip), accesses = parse_count(arguments.accesses);
  if (!skip || !accesses || *accesses == 0) return host_error("models prefetch: --skip and --accesses take numbers");
  auto weights = weights_of(arguments);
  if (!weights) return host_error(weights.error().message);
  PrefetchLimits limits;
  limits.skip = *skip;
  limits.accesses = *accesses;
  const auto choices = choose_prefetches(program, limits, **weights);
  if (!choices) return host_error(choices.error().message);
  Json json = {{"program", program.path}, {"weights", weights.value()->checksum}, {"choices", Json::array()}};
  for (const PrefetchChoice& one : choices.value()) {
    json["choices"].push_back({{"pc", one.pc}, {"policy", one.policy}, {"distance", one.distance}});
  }
  if (arguments.out.empty()) {
    print("{}\n", json.dump(1));
    return 0;
  }
  std::ofstream file(arguments.out);
  file << json.dump(1) << '\n';
  return file.flush() ? 0 : host_error("models prefetch: cannot write " + arguments.out);
}

}  // namespace

void add_prefetch(CommandSpec models, const std::vector<std::string>& separated, Command& chosen) {
  auto arguments = std::make_shared<PrefetchArguments>();
  const CommandSpec command =
      models.add_command("prefetch", "Choose what to prefetch: kvrm models prefetch [OPTIONS] PROGRAM [ARGS...]");
  command.takes_guest();
  command.option("--out", arguments->out, "Write the choices to a file, for --prefetch-choices (default: stdout)");
  command.option("--weights", arguments->weights, "Weights of the memory oracle, a .npy file");
  command.option("--root", arguments->root, "The one folder the guest may see, as /, read and write (default: none)");
  command.option("--skip", arguments->skip, "Instructions before the accesses that it looks at").show_default();
  command.option("--accesses", arguments->accesses, "Loads and stores that it looks at").show_default();
  command.footer("Runs the program on the interpreter until it has seen the accesses; its output is dropped.");
  command.on_parsed([arguments, command, &separated, &chosen] {
    chosen = [arguments, command, &separated] { return choose(*arguments, command.guest_command(separated)); };
  });
}

}  // namespace kvrm::cli
