#include "kvrm/symbols.h"

#include <new>
#include <utility>

#include "kvrm/inspect.h"
#include "symbols/built_in.h"
#include "symbols/discover.h"
#include "symbols/evaluate.h"
#include "symbols/library.h"
#include "symbols/match.h"

namespace kvrm {

struct SymbolIndex {
  symbols::Index index;
};

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

Result<SymbolIndexPointer> parse_index(std::span<const u8> bytes) {
  auto index = symbols::Index::parse(bytes);
  if (!index) return index.error();
  return SymbolIndexPointer(std::make_shared<const SymbolIndex>(SymbolIndex{std::move(*index)}));
}

Result<symbols::Image> link(std::span<const StaticLibrary> libraries) {
  symbols::Linker linker;
  for (u32 i = 0; i < libraries.size(); ++i) {
    for (const std::string& file : libraries[i].files) {
      auto bytes = read_file(file);
      if (!bytes) return bytes.error();
      if (auto added = linker.add(*bytes, i); !added) return Error{file + ": " + added.error().message};
    }
  }
  return linker.link();
}

std::vector<symbols::Library> described(std::span<const StaticLibrary> libraries) {
  std::vector<symbols::Library> result;
  for (const StaticLibrary& library : libraries) result.push_back({library.name, library.version});
  return result;
}

}  // namespace

Result<SymbolIndexPointer> built_in_symbol_index() { return parse_index(symbols::built_in_index()); }

Result<SymbolIndexPointer> load_symbol_index(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto index = parse_index(*bytes);
  if (!index) return Error{path + ": " + index.error().message};
  return index;
}

Result<std::vector<std::uint8_t>> build_symbol_index(std::span<const StaticLibrary> libraries) {
  auto image = link(libraries);
  if (!image) return image.error();
  const auto index = symbols::Index::build(*image, described(libraries));
  if (index.entries().empty()) return Error{"there are no functions with names in these files"};
  std::vector<std::uint8_t> bytes = index.serialize();
  if (bytes.size() > kMostBytes) return Error{"the index would be larger than 64 MiB; give fewer libraries"};
  return bytes;
}

Result<std::vector<RoutineName>> name_routines(std::span<const std::uint8_t> elf, const SymbolIndex& index) {
  auto linked = symbols::Linked::open(elf);
  if (!linked) return linked.error();
  const symbols::Image image = symbols::discover(*linked);
  const std::vector<symbols::Match> matches = symbols::match(index.index, image);
  std::vector<RoutineName> names;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    RoutineName& one = names.emplace_back();
    one.address = image.routines[i].address;
    one.size = image.routines[i].size;
    if (matches[i].entry == symbols::kNoEntry) continue;
    const symbols::Entry& entry = index.index.entries()[matches[i].entry];
    const symbols::Library& library = index.index.libraries()[entry.library];
    one.name = entry.names.front();
    one.aliases.assign(entry.names.begin() + 1, entry.names.end());
    one.library = library.name;
    one.version = library.version;
    one.confidence = matches[i].confidence;
    one.exact = matches[i].exact;
  }
  return names;
}

Result<NamingReport> evaluate_naming(std::span<const StaticLibrary> known, std::span<const StaticLibrary> asked,
                                     double threshold, unsigned shortest) {
  const auto known_image = link(known);
  if (!known_image) return known_image.error();
  const auto linked = link(asked);
  if (!linked) return linked.error();
  const symbols::Image image = symbols::shuffled(linked.value());
  const auto index = symbols::Index::build(known_image.value(), described(known));
  const auto found =
      symbols::evaluate(known_image.value(), index, image, static_cast<u32>(asked.size()), {threshold, shortest});
  NamingReport report;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const symbols::Score& one = found.scores[i];
    report.scores.push_back({asked[i].name, one.routines, one.top1, one.exact, one.exact_top1, one.unlike,
                             one.unlike_top1, one.by_exact, one.by_head, one.by_rows, one.named, one.named_right,
                             one.absent, one.absent_named});
  }
  for (const symbols::Case& one : found.cases) {
    const symbols::Routine& routine = image.routines[one.routine];
    NamingCase& shown = report.cases.emplace_back();
    shown.library = asked[routine.library].name;
    shown.name = symbols::main_name(routine.names);
    if (one.match.entry != symbols::kNoEntry) shown.guess = index.entries()[one.match.entry].names.front();
    shown.absent = one.absent;
    shown.right = one.right;
    shown.exact = one.match.exact;
    shown.content = one.match.content;
    shown.score = one.match.score;
    shown.margin = one.match.margin;
    shown.confidence = one.match.confidence;
    shown.length = one.length;
  }
  return report;
}

}  // namespace kvrm
