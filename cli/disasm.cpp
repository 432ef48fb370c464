// kvrm disasm: the text of words, of a raw file or of a program's code.
#include <cstring>
#include <memory>
#include <utility>

#include "commands.h"
#include "kvrm/machine.h"
#include "options.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

struct DisasmArguments {
  std::vector<std::string> words;
  std::string file;
  std::string address;
  bool raw = false;
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

int disasm(const DisasmArguments& arguments) {
  std::uint64_t address = 0;
  if (!arguments.address.empty()) {
    const auto parsed = parse_count(arguments.address);
    if (!parsed) return host_error("disasm: --address takes a number, not '" + arguments.address + "'");
    address = *parsed;
  }
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
  for (const CodeSegment& segment : *segments) {
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
  command.footer(
      "Each line: address, word, text; before it the symbols of that address. Branches show their offset in bytes,\n"
      "as LLVM prints it.");
  command.on_parsed([arguments, &chosen] { chosen = [arguments] { return disasm(*arguments); }; });
}

}  // namespace kvrm::cli
