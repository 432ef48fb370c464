#include "symbols/linked.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "linux/elf.h"
#include "linux/elf_code.h"
#include "linux/elf_format.h"

namespace kvrm::symbols {
namespace {

using linux_abi::ElfHeader;
using linux_abi::has_range;
using linux_abi::ProgramHeader;
using linux_abi::read_as;
using linux_abi::SectionHeader;

constexpr u16 kExecutable = 2, kShared = 3;
constexpr u32 kRelocationsWithAddend = 4;
constexpr u64 kAllocated = 2;
constexpr u32 kRelative = 1027, kIndirectRelative = 1032;

struct Relocation {
  u64 offset, info;
  u64 addend;
};

// Reads .eh_frame from a place on. Past the end it reads zeros.
class Cursor {
 public:
  Cursor(std::span<const u8> bytes, u64 at) : bytes_(bytes), at_(at) {}
  u64 at() const { return at_; }
  void skip(u64 count) { at_ = std::min<u64>(bytes_.size(), at_ + std::min<u64>(count, bytes_.size())); }
  template <class T>
  T take() {
    if (!has_range(bytes_, at_, sizeof(T))) {
      at_ = bytes_.size();
      return {};
    }
    const T value = read_as<T>(bytes_, at_);
    at_ += sizeof(T);
    return value;
  }
  u64 leb() {
    u64 value = 0;
    for (u32 shift = 0; shift < 64; shift += 7) {
      const u8 byte = take<u8>();
      value |= u64{byte & 127u} << shift;
      if (byte < 128) break;
    }
    return value;
  }

 private:
  std::span<const u8> bytes_;
  u64 at_;
};

constexpr u8 kPcRelativeInt = 0x1b, kAbsolute = 0x00, kPcRelativeLong = 0x1c, kUnknown = 0xff;

// How the FDEs of a CIE write addresses.
u8 encoding_of(std::span<const u8> section, u64 at) {
  Cursor cursor(section, at);
  const u8 version = cursor.take<u8>();
  std::string augmentation;
  for (u8 c = cursor.take<u8>(); c != 0 && augmentation.size() < 8; c = cursor.take<u8>()) {
    augmentation.push_back(static_cast<char>(c));
  }
  cursor.leb();
  cursor.leb();
  version == 1 ? static_cast<void>(cursor.take<u8>()) : static_cast<void>(cursor.leb());
  if (augmentation.empty()) return kAbsolute;
  if (augmentation[0] != 'z') return kUnknown;
  cursor.leb();
  for (const char c : augmentation.substr(1)) {
    if (c == 'R') return cursor.take<u8>();
    if (c == 'L') cursor.take<u8>();
    if (c == 'P') {
      const u8 size = cursor.take<u8>() & 15;
      cursor.skip(size == 0 || size == 4 || size == 12 ? 8 : size == 2 || size == 10 ? 2 : 4);
    }
  }
  return kAbsolute;
}

}  // namespace

std::vector<Range> read_unwind_ranges(u64 address, std::span<const u8> section) {
  std::vector<Range> ranges;
  for (u64 at = 0; has_range(section, at, 8);) {
    const u32 length = read_as<u32>(section, at);
    if (length < 4 || length == ~u32{0} || !has_range(section, at + 4, length)) break;
    const u64 next = at + 4 + length;
    const u32 back = read_as<u32>(section, at + 4);
    // An FDE says how far back its CIE is.
    const u64 cie = at + 4 - back;
    if (back != 0 && back <= at + 4 && has_range(section, cie, 9)) {
      Cursor cursor(section.first(next), at + 8);
      const u64 here = address + cursor.at();
      Range range;
      switch (encoding_of(section, cie + 8)) {
        case kPcRelativeInt:
          range.begin = here + static_cast<u64>(i64{cursor.take<i32>()});
          range.size = cursor.take<u32>();
          break;
        case kPcRelativeLong:
          range.begin = here + cursor.take<u64>();
          range.size = cursor.take<u64>();
          break;
        case kAbsolute:
          range.begin = cursor.take<u64>();
          range.size = cursor.take<u64>();
          break;
        default: break;
      }
      if (range.size != 0 && range.begin % 4 == 0) ranges.push_back(range);
    }
    at = next;
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  return ranges;
}

Result<Linked> Linked::open(std::span<const u8> elf) {
  auto code = linux_abi::find_code(elf);
  if (!code) return code.error();
  const auto header = read_as<ElfHeader>(elf, 0);
  if (header.type != kExecutable && header.type != kShared) return Error{"it is no linked program"};
  Linked linked;
  linked.entry_ = header.entry;
  std::ranges::sort(*code, {}, &linux_abi::ElfCode::address);
  u64 free = 0;  // the first address after the code so far
  for (const linux_abi::ElfCode& one : *code) {
    const u64 skip = (0 - one.address) % 4, address = one.address + skip;
    if (one.bytes.size() < skip + 4 || one.address < free || address + one.bytes.size() < address) continue;
    linked.code_.push_back({address, one.bytes.subspan(skip, (one.bytes.size() - skip) / 4 * 4)});
    free = address + linked.code_.back().bytes.size();
  }
  // Segments and relocations that overlap could make far more of a file than there is.
  u64 left = elf.size();
  const u64 table = u64{header.phnum} * sizeof(ProgramHeader);
  if (header.phentsize == sizeof(ProgramHeader) && has_range(elf, header.phoff, table)) {
    for (u64 i = 0; i < header.phnum; ++i) {
      const auto segment = read_as<ProgramHeader>(elf, header.phoff + i * sizeof(ProgramHeader));
      if (segment.type != linux_abi::kPtLoad || !has_range(elf, segment.offset, segment.filesz)) continue;
      if (segment.filesz > left) continue;
      left -= segment.filesz;
      linked.data_.push_back({segment.vaddr, elf.subspan(segment.offset, segment.filesz)});
    }
  }
  const auto sections = linux_abi::sections_of(elf, header);
  std::span<const u8> names;
  if (header.shstrndx < sections.size()) names = linux_abi::contents_of(elf, sections[header.shstrndx]);
  u64 relocations_left = elf.size();
  for (const SectionHeader& section : sections) {
    if (!(section.flags & kAllocated)) continue;
    const auto contents = linux_abi::contents_of(elf, section);
    if (section.type == kRelocationsWithAddend && contents.size() <= relocations_left) {
      relocations_left -= contents.size();
      for (u64 at = 0; at + sizeof(Relocation) <= contents.size(); at += sizeof(Relocation)) {
        const auto one = read_as<Relocation>(contents, at);
        const u32 type = static_cast<u32>(one.info);
        if (type != kRelative && type != kIndirectRelative) continue;
        linked.relocated_.push_back({one.offset, one.addend, type == kIndirectRelative});
      }
    } else if (linux_abi::text_at(names, section.name) == ".eh_frame") {
      linked.unwind_ranges_ = read_unwind_ranges(section.address, contents);
    }
  }
  std::ranges::sort(linked.relocated_, {}, [](const Relocated& one) { return std::pair(one.address, one.value); });
  return linked;
}

const Linked::Bytes* Linked::code_at(u64 address) const {
  const auto after = std::ranges::upper_bound(code_, address, {}, &Bytes::address);
  if (after == code_.begin()) return nullptr;
  const Bytes& found = *std::prev(after);
  return address - found.address < found.bytes.size() ? &found : nullptr;
}

std::span<const u8> Linked::data_at(u64 address) const {
  for (const Bytes& one : data_) {
    if (address - one.address < one.bytes.size()) return one.bytes.subspan(address - one.address);
  }
  return {};
}

const Linked::Relocated* Linked::relocation_at(u64 address) const {
  const auto found = std::ranges::lower_bound(relocated_, address, {}, &Relocated::address);
  return found == relocated_.end() || found->address != address ? nullptr : &*found;
}

std::optional<u64> Linked::pointer_at(u64 address) const {
  if (const Relocated* relocated = relocation_at(address)) return relocated->value;
  const auto bytes = data_at(address);
  if (bytes.size() < sizeof(u64)) return std::nullopt;
  return read_as<u64>(bytes, 0);
}

std::optional<u64> Linked::resolver_of_slot(u64 address) const {
  const Relocated* relocated = relocation_at(address);
  if (!relocated || !relocated->indirect) return std::nullopt;
  return relocated->value;
}

}  // namespace kvrm::symbols
