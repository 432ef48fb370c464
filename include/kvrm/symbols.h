// Names for the routines of a stripped program: guesses, by comparison with known libraries (docs/symbols.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"

namespace kvrm {

struct SymbolIndex;
using SymbolIndexPointer = std::shared_ptr<const SymbolIndex>;

// The routines that come with the library: libc (glibc, musl), libm, libstdc++, zlib, openssl, sqlite.
KVRM_API Result<SymbolIndexPointer> built_in_symbol_index();
KVRM_API Result<SymbolIndexPointer> load_symbol_index(const std::string& path);

struct StaticLibrary {
  std::string name, version;
  std::vector<std::string> files;  // archives (.a) and object files
};
// The bytes of an index file, at most 64 MiB. The order of the libraries is of no meaning.
KVRM_API Result<std::vector<std::uint8_t>> build_symbol_index(std::span<const StaticLibrary> libraries);

// The least confidence of a name by default: fewer than 5 % of the routines that an index does not have are named
// (docs/symbols.md has the figures).
inline constexpr double kNameConfidence = 0.7;

struct RoutineName {
  std::uint64_t address = 0, size = 0;
  std::string name;  // the best guess, however poor; empty: none at all
  std::vector<std::string> aliases;  // other names of that routine
  std::string library, version;
  double confidence = 0;  // an estimate of the probability that the name is right
  bool exact = false;  // the code is the same, but for what a linker fills in
};
// The routines of a linked program, by address. The program's own symbols are not read.
KVRM_API Result<std::vector<RoutineName>> name_routines(std::span<const std::uint8_t> elf, const SymbolIndex& index);

// How well the routines of some libraries are named by an index of others.
struct NamingScore {
  std::string library;
  std::uint64_t routines = 0;  // whose name the index has
  std::uint64_t top1 = 0;  // of these, with the right name
  std::uint64_t exact = 0, exact_top1 = 0;  // of these, with code that the index has exactly
  std::uint64_t unlike = 0, unlike_top1 = 0;  // of these, with a sequence of opcodes that no known routine has
  std::uint64_t by_exact = 0, by_head = 0, by_rows = 0;  // right by exact code, first 16 words, 3-grams of rows
  std::uint64_t named = 0, named_right = 0;  // above the threshold
  std::uint64_t absent = 0, absent_named = 0;  // routines whose name the index does not have
};
// One routine that was asked about.
struct NamingCase {
  std::string library, name, guess;
  bool absent = false, right = false, exact = false;
  double content = 0, score = 0, margin = 0, confidence = 0;  // as training/symbols_confidence.py wants them
  std::uint64_t length = 0;  // in instructions, without hints
};
struct NamingReport {
  std::vector<NamingScore> scores;  // one for each of the libraries `asked`
  std::vector<NamingCase> cases;
};
// The object files of `asked` are shuffled, so that their order says nothing. Routines of fewer than `shortest`
// instructions are there, but are not counted.
KVRM_API Result<NamingReport> evaluate_naming(std::span<const StaticLibrary> known,
                                              std::span<const StaticLibrary> asked, double threshold = kNameConfidence,
                                              unsigned shortest = 1);

}  // namespace kvrm
