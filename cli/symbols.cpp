// kvrm symbols: names for the routines of a stripped program, and the index that they come from.
#include "kvrm/symbols.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "formatted.h"
#include "kvrm/inspect.h"
#include "streams.h"
#include "symbols.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SymbolsArguments {
  std::string program;
  std::string index;
  std::string threshold;
  std::string build;
  std::vector<std::string> libraries;
  bool json = false;
  bool all = false;
};

std::string origin(const RoutineName& one) {
  return one.library + (one.version.empty() ? "" : " " + one.version) + (one.exact ? ", same code" : "");
}

void print_table(const std::vector<RoutineName>& names, double threshold, bool all) {
  std::size_t named = 0;
  print("{:<18}  {:>6}  {:>10}  {:<40}  {}\n", "address", "size", "confidence", "guess", "from");
  for (const RoutineName& one : names) {
    const bool is_named = !one.name.empty() && one.confidence >= threshold;
    named += is_named;
    if (!is_named && !all) continue;
    if (one.name.empty()) {
      print("{:#018x}  {:>6}  {:>10}  ?\n", one.address, one.size, "-");
      continue;
    }
    print("{:#018x}  {:>6}  {:>10.2f}  {:<40}  {}\n", one.address, one.size, one.confidence,
          (is_named ? "~" : "?") + one.name, origin(one));
  }
  print("{} of {} routines named with a confidence of {:.2f} at least; every name is a guess\n", named, names.size(),
        threshold);
}

void print_json(const std::string& program, const std::vector<RoutineName>& names, double threshold, bool all) {
  Json json = {{"program", program}, {"threshold", threshold}, {"found", names.size()}, {"routines", Json::array()}};
  for (const RoutineName& one : names) {
    const bool is_named = !one.name.empty() && one.confidence >= threshold;
    if (!is_named && !all) continue;
    Json routine = {{"address", one.address}, {"size", one.size}, {"named", is_named}};
    if (!one.name.empty()) {
      routine.update({{"guess", one.name},
                      {"aliases", one.aliases},
                      {"confidence", std::round(one.confidence * 1e4) / 1e4},
                      {"library", one.library},
                      {"version", one.version},
                      {"same_code", one.exact}});
    }
    json["routines"].push_back(std::move(routine));
  }
  print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// NAME[@VERSION]=FILE[,FILE...]
Result<StaticLibrary> parse_library(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{"symbols: --library takes NAME[@VERSION]=FILE[,FILE...], not '" + text + "'"};
  }
  const std::size_t at = std::min(text.find('@'), equals);
  StaticLibrary library{text.substr(0, at), at < equals ? text.substr(at + 1, equals - at - 1) : "", {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) library.files.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return library;
}

int build(const SymbolsArguments& arguments) {
  if (!arguments.program.empty()) return host_error("symbols: --build-index takes libraries, not a program");
  std::vector<StaticLibrary> libraries;
  for (const std::string& text : arguments.libraries) {
    auto library = parse_library(text);
    if (!library) return host_error(library.error().message);
    libraries.push_back(std::move(*library));
  }
  if (libraries.empty()) return host_error("symbols: --build-index needs a --library at least");
  const auto bytes = build_symbol_index(libraries);
  if (!bytes) return host_error(bytes.error().message);
  std::ofstream file(arguments.build, std::ios::binary);
  const auto& content = bytes.value();
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) return host_error("symbols: cannot write " + arguments.build);
  print("{}: {} bytes\n", arguments.build, content.size());
  return 0;
}

int symbols(const SymbolsArguments& arguments) {
  if (!arguments.build.empty()) return build(arguments);
  if (!arguments.libraries.empty()) return host_error("symbols: --library goes with --build-index");
  if (arguments.program.empty()) return host_error("symbols: give a PROGRAM");
  const auto threshold = parse_threshold("symbols", arguments.threshold);
  if (!threshold) return host_error(threshold.error().message);
  auto elf = read_file(arguments.program);
  if (!elf) return host_error(elf.error().message);
  const auto names = guess_names(*elf, arguments.index);
  if (!names) return host_error(arguments.program + ": " + names.error().message);
  if (arguments.json) {
    print_json(arguments.program, names.value(), threshold.value(), arguments.all);
  } else {
    print_table(names.value(), threshold.value(), arguments.all);
  }
  return 0;
}

}  // namespace

Result<std::vector<RoutineName>> guess_names(std::span<const std::uint8_t> elf, const std::string& index_file) {
  const auto index = index_file.empty() ? built_in_symbol_index() : load_symbol_index(index_file);
  if (!index) return index.error();
  return name_routines(elf, *index.value());
}

Result<double> parse_threshold(const std::string& command, const std::string& text) {
  if (text.empty()) return kNameConfidence;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != 0 || !(value >= 0 && value <= 1)) {
    return Error{command + ": --threshold takes a number from 0 to 1, not '" + text + "'"};
  }
  return value;
}

std::string routine_at(const std::string& program, std::uint64_t pc) {
  constexpr std::size_t kMostCode = std::size_t{4} << 20;  // guesses in more take longer than a person wants to wait
  auto elf = read_file(program);
  if (!elf) return {};
  auto segments = executable_segments(*elf);
  if (!segments) return {};
  std::size_t code = 0;
  bool inside = false;
  for (const CodeSegment& segment : *segments) {
    code += segment.bytes.size();
    if (pc - segment.address >= segment.bytes.size()) continue;
    inside = true;
    const auto after = std::ranges::upper_bound(segment.symbols, pc, {}, &CodeSymbol::address);
    // A segment without sections has no symbol but its entry.
    if (segment.name.empty() || after == segment.symbols.begin()) continue;
    return formatted("{}+{:#x}", std::prev(after)->name, pc - std::prev(after)->address);
  }
  if (!inside || code > kMostCode) return {};
  const auto names = guess_names(*elf, "");
  if (!names) return {};
  for (const RoutineName& one : names.value()) {
    if (pc - one.address >= one.size || one.confidence < kNameConfidence) continue;
    return formatted("~{}+{:#x}, a guess", one.name, pc - one.address);
  }
  return {};
}

void add_symbols(CommandSpec program, Command& chosen) {
  auto arguments = std::make_shared<SymbolsArguments>();
  const CommandSpec command = program.add_command("symbols", "Guess the names of a stripped program's routines");
  command.option("PROGRAM", arguments->program, "A linked ARM64 ELF file; its own symbols are not read");
  command.option("--index", arguments->index, "An index file instead of the one that comes with kvrm");
  command.option("--threshold", arguments->threshold, "The least confidence of a name, 0 to 1")
      .show_default(formatted("{}", kNameConfidence));
  command.flag("--all", arguments->all, "Routines without a name, too, with the best guess (?NAME)");
  command.flag("--json", arguments->json, "As one JSON object");
  command.option("--build-index", arguments->build, "Write an index file of static libraries instead");
  command.repeated("--library", arguments->libraries, "NAME[@VERSION]=FILE[,FILE...]: archives (.a) and object files");
  command.footer(
      "Every name is a guess, by comparison with known builds of libc, libm, libstdc++, zlib, openssl and sqlite:\n"
      "address, size, confidence, ~NAME, and where the name comes from.\n\n"
      "Examples:\n"
      "  kvrm symbols stripped-program\n"
      "  kvrm disasm --guess-names stripped-program\n"
      "  kvrm symbols --build-index my.index --library mylib@1.2=libmylib.a\n"
      "  kvrm symbols --index my.index stripped-program");
  command.on_parsed([arguments, &chosen] { chosen = [arguments] { return symbols(*arguments); }; });
}

}  // namespace kvrm::cli
