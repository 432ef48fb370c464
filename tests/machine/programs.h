// Small Linux programs for tests, written as words and put into ELF files in a folder that goes away.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "words.h"

namespace kvrm::test {

// Reads all of stdin, writes it to stdout piece by piece, works on each byte as long as its value says, writes an
// eight-byte digest to stderr and exits with a status made of the digest and argc.
inline const Words kDigest = {
    0xd10403ff,  //     sub sp, sp, #256
    0xd2800013,  //     mov x19, #0
    0xd2800015,  //     mov x21, #0
    0xd2800000,  // 0:  mov x0, #0
    0x910003e1,  //     mov x1, sp
    0xd2802002,  //     mov x2, #256
    0xd28007e8,  //     mov x8, #63 (read)
    0xd4000001,  //     svc #0
    0xf100001f,  //     cmp x0, #0
    0x5400026d,  //     b.le 3f
    0xaa0003f6,  //     mov x22, x0
    0xd2800003,  //     mov x3, #0
    0x38636be4,  // 1:  ldrb w4, [sp, x3]
    0x91000485,  //     add x5, x4, #1
    0x8b050273,  // 2:  add x19, x19, x5
    0xca133673,  //     eor x19, x19, x19, lsl #13
    0xf10004a5,  //     subs x5, x5, #1
    0x54ffffa1,  //     b.ne 2b
    0x91000463,  //     add x3, x3, #1
    0xeb16007f,  //     cmp x3, x22
    0x54ffff01,  //     b.ne 1b
    0xd2800020,  //     mov x0, #1
    0x910003e1,  //     mov x1, sp
    0xaa1603e2,  //     mov x2, x22
    0xd2800808,  //     mov x8, #64 (write)
    0xd4000001,  //     svc #0
    0x8b1602b5,  //     add x21, x21, x22
    0x17ffffe8,  //     b 0b
    0xf90003f3,  // 3:  str x19, [sp]
    0xd2800040,  //     mov x0, #2
    0x910003e1,  //     mov x1, sp
    0xd2800102,  //     mov x2, #8
    0xd2800808,  //     mov x8, #64
    0xd4000001,  //     svc #0
    0xf94083e0,  //     ldr x0, [sp, #256] (argc)
    0x8b130000,  //     add x0, x0, x19
    0x92401800,  //     and x0, x0, #0x7f
    0xd2800ba8,  //     mov x8, #93 (exit)
    0xd4000001,  //     svc #0
};

inline const Words kForever = {b(0)};

// Sixteen thousand system calls, then exit.
inline const Words kManyCalls = {
    0xd2880013,  //     mov x19, #0x4000
    0xd2801588,  // 0:  mov x8, #172 (getpid)
    0xd4000001,  //     svc #0
    0xf1000673,  //     subs x19, x19, #1
    0x54ffffa1,  //     b.ne 0b
    0xd2800ba8,  //     mov x8, #93
    0xd4000001,  //     svc #0
};

// Runs down its stack until there is none left.
inline const Words kStackOverflow = {
    0xf81f0fe0,  // 0:  str x0, [sp, #-16]!
    0x97ffffff,  //     bl 0b
};

inline const Words kWildStore = {
    0xd2bbd5a1,  //     mov x1, #0xdead0000
    0xf9000020,  //     str x0, [x1]
};

// Writes 4,080 bytes to stdout for ever.
inline const Words kChatter = {
    0xd13fc3ff,  //     sub sp, sp, #4080
    0xd2800020,  // 0:  mov x0, #1
    0x910003e1,  //     mov x1, sp
    0xd281fe02,  //     mov x2, #4080
    0xd2800808,  //     mov x8, #64
    0xd4000001,  //     svc #0
    0x17fffffb,  //     b 0b
};

// Makes pipes until there are no more, and exits with their number.
inline const Words kHoardsPipes = {
    0xd2800013,  //     mov x19, #0
    0xd10043ff,  //     sub sp, sp, #16
    0x910003e0,  // 0:  mov x0, sp
    0xd2800001,  //     mov x1, #0
    0xd2800768,  //     mov x8, #59 (pipe2)
    0xd4000001,  //     svc #0
    0xb5000060,  //     cbnz x0, 1f
    0x91000673,  //     add x19, x19, #1
    0x17fffffa,  //     b 0b
    0xaa1303e0,  // 1:  mov x0, x19
    0xd2800ba8,  //     mov x8, #93
    0xd4000001,  //     svc #0
};

inline const Words kExitsWithSeven = {
    0xd28000e0,  //     mov x0, #7
    0xd2800ba8,  //     mov x8, #93
    0xd4000001,  //     svc #0
};

// Words that are mostly no instructions, or the wrong ones.
inline Words noise(std::uint32_t seed) {
  Words words(64);
  for (std::uint32_t& word : words) word = seed = seed * 1664525 + 1013904223;
  return words;
}

class ProgramFolder {
 public:
  ProgramFolder() {
    char name[] = "/tmp/kvrm-machine-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~ProgramFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  // A static ELF file whose first instruction is the first word; gives its path.
  std::string add(const std::string& name, const Words& words) const {
    struct Header {
      std::uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
      std::uint16_t type = 2, machine = 183;
      std::uint32_t version = 1;
      std::uint64_t entry = kBase + sizeof(Header), phoff = 64, shoff = 0;
      std::uint32_t flags = 0;
      std::uint16_t ehsize = 64, phentsize = 56, phnum = 1, shentsize = 64, shnum = 0, shstrndx = 0;
      std::uint32_t load = 1, protection = 5;  // PT_LOAD, readable and executable
      std::uint64_t offset = 0, vaddr = kBase, paddr = kBase, filesz = 0, memsz = 0, align = 4096;
    } header;
    static_assert(sizeof(Header) == 120);
    header.filesz = header.memsz = sizeof(Header) + words.size() * sizeof(words[0]);
    const std::string path = path_ + "/" + name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(bytes_of(words).size()));
    EXPECT_TRUE(file.good());
    return path;
  }

 private:
  static constexpr std::uint64_t kBase = 0x400000;
  std::string path_;
};

}  // namespace kvrm::test
