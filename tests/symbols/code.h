// Words and files for the tests of the recognizer.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "linux/elf_format.h"
#include "symbols/image.h"

namespace kvrm::symbols {

inline constexpr u32 kRet = 0xd65f03c0, kNop = 0xd503201f, kPaciasp = 0xd503233f, kBtiC = 0xd503245f;

constexpr u32 bl(i64 words) { return 0x94000000 | (static_cast<u32>(words) & 0x3ffffff); }
constexpr u32 adrp(u32 to, u32 pages) { return 0x90000000 | (pages & 3) << 29 | (pages >> 2) << 5 | to; }
constexpr u32 add(u32 to, u32 from, u32 immediate) { return 0x91000000 | immediate << 10 | from << 5 | to; }

// Straight code that is the same for the same seed and ends with RET.
inline std::vector<u32> code(u32 seed, u32 length) {
  std::mt19937 random(seed);
  std::vector<u32> words;
  while (words.size() + 1 < length) {
    const u32 to = random() % 8, from = random() % 8, with = random() % 8, immediate = random() % 4096;
    switch (random() % 6) {
      case 0: words.push_back(add(to, from, immediate)); break;
      case 1: words.push_back(0xcb000000 | with << 16 | from << 5 | to); break;  // sub
      case 2: words.push_back(0xf9400000 | (immediate % 64) << 10 | from << 5 | to); break;  // ldr
      case 3: words.push_back(0xf9000000 | (immediate % 64) << 10 | from << 5 | to); break;  // str
      case 4: words.push_back(0x9b007c00 | with << 16 | from << 5 | to); break;  // mul
      default: words.push_back(0xd2800000 | immediate << 5 | to); break;  // mov
    }
  }
  words.push_back(kRet);
  return words;
}

inline Routine routine(const std::string& name, std::vector<u32> words) {
  Routine one;
  if (!name.empty()) one.names = {name};
  one.size = words.size() * 4;
  one.words = std::move(words);
  return one;
}

// An executable with one segment at 0x400000, whose code begins at 0x400100.
inline constexpr u64 kCode = 0x400100;
inline std::vector<u8> program(const std::vector<u32>& words, u64 entry = kCode) {
  linux_abi::ElfHeader header{};
  const u8 ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::memcpy(header.ident, ident, sizeof(ident));
  header.type = 2;
  header.machine = 183;
  header.version = 1;
  header.entry = entry;
  header.phoff = 64;
  header.phentsize = 56;
  header.phnum = 1;
  linux_abi::ProgramHeader segment{};
  segment.type = linux_abi::kPtLoad;
  segment.flags = linux_abi::kPfR | linux_abi::kPfX;
  segment.offset = 0x100;
  segment.vaddr = kCode;
  segment.filesz = segment.memsz = words.size() * 4;
  std::vector<u8> file(0x100 + words.size() * 4);
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + 64, &segment, sizeof(segment));
  std::memcpy(file.data() + 0x100, words.data(), words.size() * 4);
  return file;
}

}  // namespace kvrm::symbols
