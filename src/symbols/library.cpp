#include "symbols/library.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>

#include "linux/elf.h"
#include "linux/elf_code.h"
#include "linux/elf_format.h"

namespace kvrm::symbols {
namespace {

using linux_abi::ElfHeader;
using linux_abi::has_range;
using linux_abi::read_as;
using linux_abi::SectionHeader;
using linux_abi::SymbolEntry;

struct Relocation {
  u64 offset, info;
  i64 addend;
  u32 type() const { return static_cast<u32>(info); }
  u32 symbol() const { return static_cast<u32>(info >> 32); }
};

constexpr u16 kRelocatable = 1;
constexpr u32 kSymbolTable = 2, kRelocationsWithAddend = 4, kNoBits = 8;
constexpr u64 kExecutable = 4;
constexpr u8 kFunction = 2, kIndirectFunction = 10;
constexpr u32 kAbsolute64 = 257, kAddLow12 = 277, kJump26 = 282, kCall26 = 283, kGotLow12 = 312;
constexpr std::string_view kArchiveMagic = "!<arch>\n";
constexpr std::size_t kMemberHeader = 60;
constexpr u64 kStructure = 64;  // bytes of data that a routine refers to, in which pointers are followed

std::string_view text_of(std::span<const u8> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One relocatable object file, with every offset checked before it is used.
class Object {
 public:
  static std::optional<Object> open(std::span<const u8> bytes) {
    if (linux_abi::check_identity(bytes)) return std::nullopt;
    Object object;
    object.bytes_ = bytes;
    const auto header = read_as<ElfHeader>(bytes, 0);
    if (header.type != kRelocatable) return std::nullopt;
    object.sections_ = linux_abi::sections_of(bytes, header);
    object.read_symbols();
    return object;
  }

  u64 size() const { return bytes_.size(); }
  const std::vector<SectionHeader>& sections() const { return sections_; }
  const std::vector<SymbolEntry>& symbols() const { return symbols_; }

  std::span<const u8> contents(const SectionHeader& section) const {
    return section.type == kNoBits ? std::span<const u8>() : linux_abi::contents_of(bytes_, section);
  }

  std::string name(const SymbolEntry& symbol) const { return linux_abi::text_at(strings_, symbol.name); }

  bool is_code(u16 section) const { return section < sections_.size() && sections_[section].flags & kExecutable; }

 private:
  void read_symbols() {
    const auto table = std::ranges::find(sections_, kSymbolTable, &SectionHeader::type);
    if (table == sections_.end() || table->link >= sections_.size()) return;
    strings_ = contents(sections_[table->link]);
    const auto entries = contents(*table);
    for (u64 at = 0; at + sizeof(SymbolEntry) <= entries.size(); at += sizeof(SymbolEntry)) {
      symbols_.push_back(read_as<SymbolEntry>(entries, at));
    }
  }

  std::span<const u8> bytes_, strings_;
  std::vector<SectionHeader> sections_;
  std::vector<SymbolEntry> symbols_;
};

// Aliases have one place.
using Place = std::pair<u16, u64>;

struct Found {
  u64 size = 0;
  std::vector<std::string> names, globals;
};

std::map<Place, Found> functions_of(const Object& object) {
  std::map<Place, Found> found;
  u64 left = 2 * object.size();
  for (const SymbolEntry& symbol : object.symbols()) {
    const u8 type = symbol.info & 15;
    if ((type != kFunction && type != kIndirectFunction) || !object.is_code(symbol.section)) continue;
    if (symbol.value % 4 != 0 || symbol.size < 4) continue;
    const auto code = object.contents(object.sections()[symbol.section]);
    if (!has_range(code, symbol.value, symbol.size)) continue;
    // Symbols that overlap could make far more of a file than there is.
    const bool is_alias = found.contains({symbol.section, symbol.value});
    if (!is_alias && symbol.size > left) continue;
    left -= is_alias ? 0 : symbol.size;
    std::string name = object.name(symbol);
    if (name.empty() || name[0] == '$') continue;
    Found& one = found[{symbol.section, symbol.value}];
    if (!is_alias) one.size = symbol.size;
    if (symbol.info >> 4 != 0) one.globals.push_back(name);
    name = source_name(std::move(name));
    if (std::ranges::find(one.names, name) == one.names.end()) one.names.push_back(std::move(name));
  }
  return found;
}

std::vector<u32> words_of(std::span<const u8> code, u64 offset, u64 size) {
  std::vector<u32> words(size / 4);
  std::memcpy(words.data(), code.data() + offset, words.size() * 4);
  return words;
}

// What the relocations of an object file say about its routines.
class Relocations {
 public:
  explicit Relocations(const Object& object) : object_(object) {
    const auto& sections = object.sections();
    u64 left = object.size();
    const auto key = [](const Relocation& one) { return std::tuple(one.offset, one.info, one.addend); };
    for (const SectionHeader& section : sections) {
      if (section.type != kRelocationsWithAddend || section.info >= sections.size()) continue;
      const auto entries = object.contents(section);
      if (entries.size() > left) continue;
      left -= entries.size();
      auto& own = of_section_[static_cast<u16>(section.info)];
      for (u64 at = 0; at + sizeof(Relocation) <= entries.size(); at += sizeof(Relocation)) {
        const auto relocation = read_as<Relocation>(entries, at);
        if (relocation.symbol() < object.symbols().size()) own.push_back(relocation);
      }
    }
    for (auto& [number, own] : of_section_) std::ranges::sort(own, {}, key);
  }

  // Those of a range of a section.
  std::span<const Relocation> within(u16 section, u64 begin, u64 size) const {
    const auto found = of_section_.find(section);
    if (found == of_section_.end()) return {};
    const auto& own = found->second;
    const auto first = std::ranges::lower_bound(own, begin, {}, &Relocation::offset);
    const auto last = std::ranges::lower_bound(first, own.end(), begin + size, {}, &Relocation::offset);
    return {first, last};
  }

  const SymbolEntry& symbol(const Relocation& relocation) const { return object_.symbols()[relocation.symbol()]; }
  Place target(const Relocation& relocation) const {
    const SymbolEntry& own = symbol(relocation);
    return {own.section, own.value + static_cast<u64>(relocation.addend)};
  }
  // The text at a place; 0: none.
  u64 text(Place place) const {
    const auto data = data_of(place.first);
    return place.second < data.size() ? text_hash(data.data() + place.second, data.data() + data.size()) : 0;
  }
  // The pointers of a structure at a place.
  std::span<const Relocation> pointers(Place place) const {
    if (place.second >= data_of(place.first).size()) return {};
    const auto found = within(place.first, place.second, kStructure);
    return found.first(std::min<std::size_t>(found.size(), kStructure / 8));
  }

 private:
  std::span<const u8> data_of(u16 section) const {
    if (section == 0 || section >= object_.sections().size() || object_.is_code(section)) return {};
    return object_.contents(object_.sections()[section]);
  }

  const Object& object_;
  std::map<u16, std::vector<Relocation>> of_section_;
};

}  // namespace

Result<void> Linker::add_object(std::span<const u8> bytes, u32 library) {
  const auto object = Object::open(bytes);
  if (!object) return {};  // a member that is no code for this machine
  const u32 unit = units_++;
  std::map<Place, u32> routine_at;
  for (auto& [place, found] : functions_of(*object)) {
    const u32 number = static_cast<u32>(image_.routines.size());
    routine_at[place] = number;
    for (const std::string& name : found.globals) {
      globals_.try_emplace({library, name}, number);
      any_.try_emplace(name, number);
    }
    Routine routine;
    routine.address = place.second;
    routine.size = found.size;
    routine.names = std::move(found.names);
    routine.words = words_of(object->contents(object->sections()[place.first]), place.second, found.size);
    routine.unit = unit;
    routine.library = library;
    image_.routines.push_back(std::move(routine));
  }
  calls_.resize(image_.routines.size());

  const Relocations relocations(*object);
  const auto refer = [&](u32 number, const Relocation& relocation, bool is_call) {
    const Place target = relocations.target(relocation);
    const auto local = routine_at.find(target);
    if (target.first != 0 && local != routine_at.end()) {
      calls_[number].push_back({local->second, is_call, {}});
    } else if (target.first == 0 || is_call) {
      calls_[number].push_back({kByName, is_call, object->name(relocations.symbol(relocation))});
    }
  };
  for (const auto& [place, number] : routine_at) {
    Routine& routine = image_.routines[number];
    for (const Relocation& relocation : relocations.within(place.first, place.second, routine.size)) {
      const u32 type = relocation.type();
      const bool is_call = type == kCall26 || type == kJump26;
      if (!is_call && type != kAddLow12 && type != kGotLow12) continue;
      refer(number, relocation, is_call);
      if (type != kAddLow12) continue;
      const Place target = relocations.target(relocation);
      if (const u64 text = relocations.text(target)) routine.strings.push_back(text);
      for (const Relocation& pointer : relocations.pointers(target)) {
        if (pointer.type() != kAbsolute64) continue;
        refer(number, pointer, false);
        if (const u64 text = relocations.text(relocations.target(pointer))) routine.strings.push_back(text);
      }
    }
  }
  return {};
}

Result<void> Linker::add(std::span<const u8> bytes, u32 library) {
  if (!text_of(bytes).starts_with(kArchiveMagic)) {
    if (auto error = linux_abi::check_identity(bytes)) return *error;
    return add_object(bytes, library);
  }
  for (u64 at = kArchiveMagic.size(); has_range(bytes, at, kMemberHeader);) {
    const std::string_view header = text_of(bytes.subspan(at, kMemberHeader));
    u64 size = 0;
    const std::string_view digits = header.substr(48, 10);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (parsed.ec != std::errc() || !has_range(bytes, at + kMemberHeader, size)) {
      return Error{"the archive is damaged or cut short"};
    }
    // Members that begin with '/' are the archive's own tables, unless a digit follows: a long name.
    const bool is_table = header[0] == '/' && (header[1] < '0' || header[1] > '9');
    if (!is_table) {
      // Members are aligned to two bytes; everything read from them is copied.
      if (auto added = add_object(bytes.subspan(at + kMemberHeader, size), library); !added) return added;
    }
    at += kMemberHeader + size + size % 2;
  }
  return {};
}

Image Linker::link() {
  for (u32 number = 0; number < image_.routines.size(); ++number) {
    Routine& routine = image_.routines[number];
    for (const Call& call : calls_[number]) {
      u32 target = call.routine;
      if (target == kByName) {
        const auto same = globals_.find({routine.library, call.name});
        const auto other = any_.find(call.name);
        target = same != globals_.end() ? same->second : other != any_.end() ? other->second : kByName;
      }
      if (target == number || call.name == "_GLOBAL_OFFSET_TABLE_") continue;
      if (target == kByName) {
        if (call.is_call && std::ranges::find(routine.calls_outside, call.name) == routine.calls_outside.end()) {
          routine.calls_outside.push_back(call.name);
        }
      } else if (std::ranges::find(routine.calls, target) == routine.calls.end()) {
        routine.calls.push_back(target);
      }
    }
    std::ranges::sort(routine.strings);
    routine.strings.erase(std::unique(routine.strings.begin(), routine.strings.end()), routine.strings.end());
  }
  return std::move(image_);
}

}  // namespace kvrm::symbols
