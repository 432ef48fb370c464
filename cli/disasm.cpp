// kvrm disasm: the text of words, of a raw file or of a program's code.
#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "commands.h"
#include "kvrm/machine.h"
#include "options.h"
#include "streams.h"
#include "symbols.h"

namespace kvrm::cli {
namespace {

struct DisasmArguments {
  std::vector<std::string> words;
  std::string file;
  std::string address;
  bool raw = false;
  bool guess_names = false;
  std::string index;
};

void print_word(std::uint64_t address, std::uint32_t word) {
  print("{:12x}:  {:08x}  {}\n", address, word, disassemble(word, address));
}

int print_words(const DisasmArguments& arguments, std::uint64_t address) {
  for (const std::string& text : arguments.words) {
    const std::string hex = text.starts_with("0x") ? text : "0x" + text;
    const auto word = parse_count(hex);
    if (!word || *word > 0xffffffff) return host_error("disasm: '" + text + "' is no 32-bit word in hexadecimal");
    print_word(address, static_cast<std::uint32_t>(*word));
    address += 4;
  }
  return 0;
}

// The symbols at an address; they and those before are taken off the list.
void print_labels(std::uint64_t address, std::span<const CodeSymbol>& symbols) {
  for (bool first = true; !symbols.empty() && symbols.front().address <= address; symbols = symbols.subspan(1)) {
    if (symbols.front().address != address) continue;
    print("{}{:016x} <{}>:\n", std::exchange(first, false) ? "\n" : "", address, symbols.front().name);
  }
}

void print_code(std::uint64_t address, std::span<const std::uint8_t> bytes, std::span<const CodeSymbol> symbols = {}) {
  for (std::size_t offset = 0; offset + 4 <= bytes.size(); offset += 4) {
    print_labels(address + offset, symbols);
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof(word));
    print_word(address + offset, word);
  }
}

// Adds ~NAME where the program has no symbol and a guess is good enough.
void add_guesses(std::vector<CodeSymbol>& symbols, const std::vector<RoutineName>& names) {
  std::vector<CodeSymbol> guesses;
  for (const RoutineName& one : names) {
    if (one.name.empty() || one.confidence < kNameConfidence) continue;
    if (std::ranges::binary_search(symbols, one.address, {}, &CodeSymbol::address)) continue;
    guesses.push_back({one.address, "~" + one.name});
  }
  symbols.insert(symbols.end(), guesses.begin(), guesses.end());
  std::ranges::sort(symbols, {}, [](const CodeSymbol& one) { return std::tie(one.address, one.name); });
}

int disasm(const DisasmArguments& arguments) {
  std::uint64_t address = 0;
  if (!arguments.address.empty()) {
    const auto parsed = parse_count(arguments.address);
    if (!parsed) return host_error("disasm: --address takes a number, not '" + arguments.address + "'");
    address = *parsed;
  }
  if (!arguments.index.empty() && !arguments.guess_names) return host_error("disasm: --index goes with --guess-names");
  if (!arguments.words.empty()) return print_words(arguments, address);
  if (arguments.file.empty()) return host_error("disasm: give a FILE or --word WORD");
  auto bytes = read_file(arguments.file);
  if (!bytes) return host_error(bytes.error().message);
  if (arguments.raw) {
    print_code(address, *bytes);
    return 0;
  }
  auto segments = executable_segments(*bytes);
  if (!segments) return host_error(arguments.file + ": " + segments.error().message);
  std::vector<RoutineName> names;
  if (arguments.guess_names) {
    auto guessed = guess_names(*bytes, arguments.index);
    if (!guessed) return host_error(arguments.file + ": " + guessed.error().message);
    names = std::move(*guessed);
  }
  for (CodeSegment& segment : *segments) {
    if (arguments.guess_names) add_guesses(segment.symbols, names);
    print("; {} at {:#x}, {} bytes\n", segment.name.empty() ? "code" : segment.name, segment.address,
          segment.bytes.size());
    print_code(segment.address, segment.bytes, segment.symbols);
  }
  return 0;
}

}  // namespace

void add_disasm(CommandSpec program, Command& chosen) {
  auto arguments = std::make_shared<DisasmArguments>();
  const CommandSpec command = program.add_command("disasm", "Disassemble words, a raw file or a program's code");
  command.option("FILE", arguments->file, "An ARM64 ELF file, or any file with --raw");
  command.option("--word", arguments->words, "Words in hexadecimal instead of a file");
  command.option("--address", arguments->address, "Address of the first word (raw files and words)");
  command.flag("--raw", arguments->raw, "The file is bare code, not an ELF");
  command.flag("--guess-names", arguments->guess_names, "Guess names where there are no symbols, marked ~NAME");
  command.option("--index", arguments->index, "With --guess-names: an index file (kvrm symbols --build-index)");
  command.footer(
      "Each line: address, word, text; before it the symbols of that address. Branches show their offset in bytes,\n"
      "as LLVM prints it.");
  command.on_parsed([arguments, &chosen] { chosen = [arguments] { return disasm(*arguments); }; });
}

}  // namespace kvrm::cli
