#include "linux/elf_code.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "linux/elf.h"
#include "linux/elf_format.h"

namespace kvrm::linux_abi {

std::vector<SectionHeader> sections_of(std::span<const u8> bytes, const ElfHeader& header) {
  std::vector<SectionHeader> sections;
  const u64 size = u64{header.shnum} * sizeof(SectionHeader);
  if (header.shentsize != sizeof(SectionHeader) || !has_range(bytes, header.shoff, size)) return sections;
  for (u64 i = 0; i < header.shnum; ++i) {
    sections.push_back(read_as<SectionHeader>(bytes, header.shoff + i * sizeof(SectionHeader)));
  }
  return sections;
}

std::span<const u8> contents_of(std::span<const u8> bytes, const SectionHeader& section) {
  return has_range(bytes, section.offset, section.size) ? bytes.subspan(section.offset, section.size)
                                                        : std::span<const u8>();
}

std::string text_at(std::span<const u8> strings, u64 offset) {
  if (offset >= strings.size()) return {};
  const auto rest = strings.subspan(offset);
  return {rest.begin(), std::find(rest.begin(), rest.end(), u8{0})};
}

namespace {

constexpr u32 kProgramBits = 1, kSymbolTable = 2, kDynamicSymbols = 11;
constexpr u64 kExecutable = 4;
constexpr u8 kNoType = 0, kFunction = 2, kIndirectFunction = 10;
constexpr u16 kTypeRelocatable = 1;

// Of code, and not $x or $d, which tell code from data.
bool is_label(const SymbolEntry& symbol, std::string_view name) {
  const u8 type = symbol.info & 15;
  return !name.empty() && name[0] != '$' && (type == kNoType || type == kFunction || type == kIndirectFunction);
}

// Gives each symbol to its section; `code_of` says which of `code` a section is, or is kNone.
constexpr std::size_t kNone = ~std::size_t{0};
void add_symbols(std::span<const u8> bytes, const std::vector<SectionHeader>& sections, bool relocatable,
                 const std::vector<std::size_t>& code_of, std::vector<ElfCode>& code) {
  for (const u32 wanted : {kSymbolTable, kDynamicSymbols}) {
    const auto table = std::ranges::find(sections, wanted, &SectionHeader::type);
    if (table == sections.end() || table->link >= sections.size()) continue;
    const auto strings = contents_of(bytes, sections[table->link]);
    const auto entries = contents_of(bytes, *table);
    for (u64 at = 0; at + sizeof(SymbolEntry) <= entries.size(); at += sizeof(SymbolEntry)) {
      const auto symbol = read_as<SymbolEntry>(entries, at);
      if (symbol.section >= sections.size() || code_of[symbol.section] == kNone) continue;
      std::string name = text_at(strings, symbol.name);
      if (!is_label(symbol, name)) continue;
      ElfCode& own = code[code_of[symbol.section]];
      own.symbols.push_back({relocatable ? own.address + symbol.value : symbol.value, std::move(name)});
    }
    break;  // the symbol table has all that the dynamic one has
  }
  for (ElfCode& one : code) {
    std::ranges::sort(one.symbols, {}, [](const ElfCode::Symbol& s) { return std::tie(s.address, s.name); });
  }
}

std::vector<ElfCode> code_sections(std::span<const u8> bytes, const ElfHeader& header) {
  std::vector<ElfCode> code;
  const auto sections = sections_of(bytes, header);
  if (header.shstrndx >= sections.size()) return code;
  const auto names = contents_of(bytes, sections[header.shstrndx]);
  std::vector<std::size_t> code_of(sections.size(), kNone);
  u64 left = bytes.size();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const SectionHeader& section = sections[i];
    const auto contents = contents_of(bytes, section);
    if (section.type != kProgramBits || !(section.flags & kExecutable) || contents.empty()) continue;
    // Sections that overlap could make far more of a file than there is.
    if (contents.size() > left) continue;
    left -= contents.size();
    code_of[i] = code.size();
    code.push_back({text_at(names, section.name), section.address, contents, {}});
  }
  add_symbols(bytes, sections, header.type == kTypeRelocatable, code_of, code);
  return code;
}

std::vector<ElfCode> code_segments(std::span<const u8> bytes, const ElfHeader& header) {
  std::vector<ElfCode> code;
  const u64 table = u64{header.phnum} * sizeof(ProgramHeader);
  if (header.phentsize != sizeof(ProgramHeader) || !has_range(bytes, header.phoff, table)) return code;
  u64 left = bytes.size();
  for (u64 i = 0; i < header.phnum; ++i) {
    const auto segment = read_as<ProgramHeader>(bytes, header.phoff + i * sizeof(ProgramHeader));
    if (segment.type != kPtLoad || !(segment.flags & kPfX) || !has_range(bytes, segment.offset, segment.filesz))
      continue;
    u64 skip = segment.offset == 0 ? sizeof(ElfHeader) : 0;
    if (skip != 0 && header.phoff <= skip) skip = std::max(skip, header.phoff + table);
    if (skip >= segment.filesz) continue;
    if (segment.filesz > left) continue;
    left -= segment.filesz;
    const u64 address = segment.vaddr + skip;
    code.push_back({{}, address, bytes.subspan(segment.offset + skip, segment.filesz - skip), {}});
    if (header.entry - address < segment.filesz - skip) code.back().symbols.push_back({header.entry, "entry"});
  }
  return code;
}

}  // namespace

Result<std::vector<ElfCode>> find_code(std::span<const u8> bytes) {
  if (auto error = check_identity(bytes)) return *error;
  const auto header = read_as<ElfHeader>(bytes, 0);
  auto code = code_sections(bytes, header);
  if (code.empty()) code = code_segments(bytes, header);
  if (code.empty()) return Error{"there is no code in it"};
  return code;
}

}  // namespace kvrm::linux_abi
