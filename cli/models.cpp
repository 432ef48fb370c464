// kvrm models: the networks' weights, and the proof that dispatch by network is exact.
#include "kvrm/models.h"

#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "dispatch_report.h"
#include "formatted.h"
#include "kvrm/inspect.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

// A model's name means the weights that come with the program; anything else is a file.
Result<WeightsPointer> find_weights(const std::string& name) {
  for (const std::string& model : built_in_models()) {
    if (model == name) return built_in_weights(model);
  }
  return load_weights(name);
}

std::string state_of(const Weights& weights) {
  if (weights.verified()) return formatted("verified {}", weights.verification->date);
  if (weights.verification) return "verification failed, or of other weights";
  return weights.described ? "not verified" : "no description";
}

void print_line(const Weights& weights) {
  print("{:<19}{:>10}  features {}  {}  {}\n", weights.layout->name, weights.layout->parameters, weights.features,
        weights.source, state_of(weights));
}

int list(const std::vector<std::string>& files) {
  print("models\n");
  for (const ModelLayout& layout : model_layouts()) {
    print("  {:<19}{:>10}  {}\n", layout.name, layout.parameters, layout.purpose);
  }
  print("weights\n");
  for (const std::string& model : built_in_models()) {
    auto weights = built_in_weights(model);
    if (!weights) return host_error(weights.error().message);
    print("  ");
    print_line(**weights);
  }
  for (const std::string& file : files) {
    auto weights = load_weights(file);
    if (!weights) return host_error(weights.error().message);
    print("  ");
    print_line(**weights);
  }
  return 0;
}

Json verification_json(const Verification& verification) {
  return {{"checksum", verification.checksum}, {"date", verification.date},   {"device", verification.device},
          {"method", verification.method},     {"words", verification.words}, {"errors", verification.errors},
          {"margin", verification.margin}};
}

int show(const std::string& name, bool as_json) {
  auto found = find_weights(name);
  if (!found) return host_error(found.error().message);
  const Weights& weights = **found;
  if (as_json) {
    Json json = {{"model", weights.layout->name},
                 {"source", weights.source},
                 {"layout", weights.layout->version},
                 {"features", weights.features},
                 {"parameters", weights.layout->parameters},
                 {"checksum", weights.checksum},
                 {"described", weights.described},
                 {"verified", weights.verified()}};
    for (const Tensor& tensor : weights.layout->tensors) {
      json["tensors"].push_back({{"name", tensor.name}, {"offset", tensor.offset}, {"shape", tensor.shape}});
    }
    if (weights.described) {
      json["training"] = {{"command", weights.training_command}, {"metrics", Json::parse(weights.metrics)}};
    }
    if (weights.verification) json["verification"] = verification_json(*weights.verification);
    print("{}\n", json.dump(1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  print_line(weights);
  print("purpose    {}\nlayout     version {}\nchecksum   {}\n", weights.layout->purpose, weights.layout->version,
        weights.checksum);
  for (const Tensor& tensor : weights.layout->tensors) {
    print("  {:>8}  {:<32}{}\n", tensor.offset, tensor.name, Json(tensor.shape).dump());
  }
  if (weights.described) print("training   {}\nmetrics    {}\n", weights.training_command, weights.metrics);
  if (const auto& record = weights.verification) {
    print("verified   {} on {} ({}): {} words, {} errors, margin {:.4f}\n", record->date, record->device,
          record->method, record->words, record->errors, record->margin);
  }
  return 0;
}

struct VerifyArguments {
  std::string model;
  std::string weights;
  std::string device = "cpu";
  bool exhaustive = false;
  bool json = false;
  bool no_record = false;
};

void print_report(const DispatchReport& report, const Weights& weights) {
  const Verification& summary = report.verification;
  print("weights    {} ({}, {})\n", weights.source, weights.layout->name, weights.checksum);
  print("asked      {} inputs on {}: {}\n", report.inputs, summary.device, summary.method);
  print("words      {}\nerrors     {}\n", summary.words, summary.errors);
  print("margin     {:.6f} between the best class and the second, at least\n", summary.margin);
  print("rounding   {:.3g} from the same network in double precision, at most\n", report.rounding);
  print("seconds    {:.2f}\n", report.seconds);
  if (summary.errors != 0) {
    print("example    {:#010x} {}\n", report.example, disassemble(report.example, 0));
    print("{}", confusion_text(report.confusion));
  }
}

int verify(const VerifyArguments& arguments) {
  if (arguments.model != "dispatch") {
    return host_error("models verify: there is a proof for 'dispatch' only, not for '" + arguments.model + "'");
  }
  auto found = find_weights(arguments.weights.empty() ? "dispatch-embedding" : arguments.weights);
  if (!found) return host_error(found.error().message);
  const Weights& weights = **found;
  VerifyOptions options;
  options.device = arguments.device == "cuda" ? Device::kCuda : Device::kCpu;
  options.exhaustive = arguments.exhaustive;
  if (isatty(STDERR_FILENO)) {
    options.progress = [](double share) { say("\r{:3.0f} %{}", share * 100, share < 1 ? "" : "\r     \r"); };
  }
  const auto report = verify_dispatch(weights, options);
  if (!report) return host_error(report.error().message);
  const Verification& summary = report.value().verification;
  const bool passed = summary.errors == 0 && summary.margin > 0;
  if (arguments.json) {
    Json json = verification_json(summary);
    json.update({{"weights", weights.source},
                 {"inputs", report.value().inputs},
                 {"rounding", report.value().rounding},
                 {"seconds", report.value().seconds},
                 {"passed", passed},
                 {"confusion", report.value().confusion}});
    print("{}\n", json.dump());
  } else {
    print_report(report.value(), weights);
    print("{}\n", passed ? "PASSED: the network is right about every word" : "FAILED");
  }
  if (passed && weights.source != "built in" && !arguments.no_record) {
    if (auto recorded = record_verification(summary); !recorded) return host_error(recorded.error().message);
  }
  return passed ? 0 : 1;
}

void add_list(CommandSpec models, Command& chosen) {
  auto files = std::make_shared<std::vector<std::string>>();
  const CommandSpec command =
      models.add_command("list", "The models, the weights that come with kvrm, and weight files");
  command.option("FILES", *files, "Weight files (.npy) to list too");
  command.on_parsed([files, &chosen] { chosen = [files] { return list(*files); }; });
}

void add_show(CommandSpec models, Command& chosen) {
  auto name = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  const CommandSpec command =
      models.add_command("show", "One set of weights: layout, training, checksum, verification");
  command.option("WEIGHTS", *name, "A weight file (.npy), or the name of weights that come with kvrm").required();
  command.flag("--json", *as_json, "As one JSON object");
  command.on_parsed([=, &chosen] { chosen = [=] { return show(*name, *as_json); }; });
}

void add_verify(CommandSpec models, Command& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  const CommandSpec command =
      models.add_command("verify", "Prove that a network is right about all 4,294,967,296 words");
  command.option("MODEL", arguments->model, "What to verify: dispatch").required();
  command.option("--weights", arguments->weights,
                 "A weight file, or the name of weights that come with kvrm (default: dispatch-embedding)");
  command.option("--device", arguments->device, "Where to ask the network").one_of({"cpu", "cuda"}).show_default();
  command.flag("--exhaustive", arguments->exhaustive,
               "CPU: ask about every word instead of every distinct input (minutes)");
  command.flag("--json", arguments->json, "The result as one JSON object");
  command.flag("--no-record", arguments->no_record, "Do not keep a passed verification in the cache folder");
  command.footer(
      "A word's class depends on word[31:24] and twelve bits, and these are what the network sees: 1,048,576 distinct\n"
      "inputs cover all words. On a GPU every word is asked about. A passed verification is kept in the\n"
      "cache folder by checksum; kvrm run --dispatch neural accepts no weights without one. Exit status 1: not "
      "passed.");
  command.on_parsed([arguments, &chosen] { chosen = [arguments] { return verify(*arguments); }; });
}

}  // namespace

void add_models(CommandSpec program, const std::vector<std::string>& separated, Command& chosen) {
  const CommandSpec command = program.add_command("models", "The networks' weights: list them, show them, prove them");
  command.needs_command();
  add_list(command, chosen);
  add_show(command, chosen);
  add_verify(command, chosen);
  add_evaluate(command, chosen);
  add_prefetch(command, separated, chosen);
  command.footer(
      "Examples:\n"
      "  kvrm models list models/*.npy                     what there is\n"
      "  kvrm models show dispatch-embedding               one set of weights\n"
      "  kvrm models verify dispatch                       prove those that come with kvrm\n"
      "  kvrm models verify dispatch --weights mine.npy    prove others, and keep that in the cache\n"
      "  kvrm run --dispatch neural --weights mine.npy prog");
}

}  // namespace kvrm::cli
