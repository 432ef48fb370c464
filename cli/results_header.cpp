#include "results_header.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "formatted.h"
#include "kvrm/inspect.h"
#include "kvrm/program_file.h"

namespace kvrm::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMark = "kvrm_fleet";
constexpr unsigned kVersion = 1;

// FNV-1a. It finds changes, not attackers.
class Hash {
 public:
  void add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3;
  }
  // With its length, so that what comes next cannot be taken for a part of it.
  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
  void add(std::uint64_t number) {
    for (unsigned i = 0; i < 64; i += 8) hash_ = (hash_ ^ (number >> i & 0xff)) * 0x100000001b3;
  }
  std::string text() const { return formatted("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::string hash_of(std::span<const std::uint8_t> bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.text();
}

Result<std::string> hash_of(Result<std::string> text) {
  if (!text) return text;
  return hash_of({reinterpret_cast<const std::uint8_t*>(text->data()), text->size()});
}

// A program's name may be a link.
Result<std::string> program_hash(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  return hash_of(*bytes);
}

std::string inputs_hash(const std::vector<Input>& inputs) {
  Hash hash;
  std::map<std::string, std::string> known;  // files that several inputs may name
  const auto add_file = [&](const std::string& path, bool is_program) {
    auto [found, is_new] = known.try_emplace(path);
    if (is_new) {
      auto contents = is_program ? program_hash(path) : hash_of(read_input(path));
      // The input's record will say why it cannot be read.
      found->second = contents ? *contents : "unreadable";
    }
    hash.add(found->second);
  };
  for (const Input& input : inputs) {
    hash.add(input.name);
    hash.add(std::uint64_t{input.args.size()});
    for (const std::string& argument : input.args) hash.add(argument);
    hash.add(input.stdin_text);
    if (!input.program.empty()) add_file(input.program, true);
    if (!input.stdin_file.empty()) add_file(input.stdin_file, false);
  }
  return hash.text();
}

std::string as_text(const ordered_json& value) {
  return value.is_null() ? "none" : value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

ResultsHeader ResultsHeader::make(const Settings& settings, const JobLimits& limits, const std::vector<Input>& inputs) {
  const Program& program = settings.program;
  ordered_json json = {{kMark, kVersion}};
  if (program.file) {
    json["program"] = program.path;
    json["program_hash"] = hash_of(program.file->bytes());
  }
  json["arguments"] = program.args;
  json["inputs"] = inputs.size();
  json["inputs_hash"] = inputs_hash(inputs);
  json["env"] = program.env;
  json["root"] = program.root;
  json["clock"] = program.clock == Clock::kHost ? "host" : "virtual";
  json["seed"] = program.seed;
  json["memory"] = settings.options.memory_limit;
  if (limits.instructions != Machine::kNoLimit) json["max-instructions"] = limits.instructions;
  json["max-output"] = limits.max_output;
  ResultsHeader header;
  header.text_ = as_text(json);
  return header;
}

bool ResultsHeader::is_header(const ordered_json& line) { return line.is_object() && line.contains(kMark); }

std::string ResultsHeader::difference(const ordered_json& earlier) const {
  // As a reader will find it: JSON cannot carry every byte.
  const ordered_json now = ordered_json::parse(text_);
  const auto differs = [&](const char* name) {
    return earlier.value(name, ordered_json()) != now.value(name, ordered_json());
  };
  const auto then_and_now = [&](const char* name) {
    return formatted("{} then, {} now", as_text(earlier.value(name, ordered_json())),
                     as_text(now.value(name, ordered_json())));
  };
  if (differs(kMark)) return "another version of kvrm wrote it";
  if (differs("program_hash")) {
    return "the program differs" + (differs("program") ? " (" + then_and_now("program") + ")" : std::string());
  }
  if (differs("arguments")) return "the arguments differ (" + then_and_now("arguments") + ")";
  if (differs("inputs")) return "there are other inputs (" + then_and_now("inputs") + ")";
  if (differs("inputs_hash")) return "there are other inputs (their names, arguments or contents differ)";
  for (const char* name : {"env", "root", "clock", "seed", "memory", "max-instructions", "max-output"}) {
    if (differs(name)) return formatted("--{} differs ({})", name, then_and_now(name));
  }
  return {};
}

}  // namespace kvrm::cli
