// ELF files as they are laid out, little-endian and 64-bit.
#pragma once

#include <cstring>
#include <span>

#include "base/types.h"

namespace kvrm::linux_abi {

struct ElfHeader {
  u8 ident[16];
  u16 type, machine;
  u32 version;
  u64 entry, phoff, shoff;
  u32 flags;
  u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
static_assert(sizeof(ElfHeader) == 64);

struct ProgramHeader {
  u32 type, flags;
  u64 offset, vaddr, paddr, filesz, memsz, align;
};
static_assert(sizeof(ProgramHeader) == 56);

struct SectionHeader {
  u32 name, type;
  u64 flags, address, offset, size;
  u32 link, info;
  u64 alignment, entry_size;
};
static_assert(sizeof(SectionHeader) == 64);

struct SymbolEntry {
  u32 name;
  u8 info, other;
  u16 section;
  u64 value, size;
};
static_assert(sizeof(SymbolEntry) == 24);

inline constexpr u32 kPtLoad = 1, kPtInterp = 3, kPtGnuStack = 0x6474e551;
inline constexpr u32 kPfX = 1, kPfW = 2, kPfR = 4;

// Whether `size` bytes at `offset` are there.
constexpr bool has_range(std::span<const u8> bytes, u64 offset, u64 size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// Only where it has the range.
template <class T>
T read_as(std::span<const u8> bytes, u64 offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace kvrm::linux_abi
