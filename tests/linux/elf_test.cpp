// The ELF reader against good, bad and hostile files.
#include "linux/elf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "linux/freestanding/layout.h"
#include "memory/address_space.h"

namespace kvrm::linux_abi {
namespace {

using memory::AddressSpace;

struct Header {
  u8 ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  u16 type = 2, machine = 183;
  u32 version = 1;
  u64 entry = 0x400100, phoff = 64, shoff = 0;
  u32 flags = 0;
  u16 ehsize = 64, phentsize = 56, phnum = 2, shentsize = 0, shnum = 0, shstrndx = 0;
};
struct Segment {
  u32 type = 1, flags = 5;
  u64 offset = 0, vaddr = 0x400000, paddr = 0, filesz = 0x200, memsz = 0x200, align = 0x1000;
};

struct File {
  Header header;
  Segment text, data{1, 6, 0x1100, 0x402100, 0, 0x80, 0x3000, 0x1000};

  std::vector<u8> bytes(std::size_t size = 0x1200) const {
    std::vector<u8> all(size);
    for (std::size_t i = 0; i < size; ++i) all[i] = u8(i * 7 + 1);
    std::memcpy(all.data(), &header, 64);
    std::memcpy(all.data() + 64, &text, 56);
    std::memcpy(all.data() + 120, &data, 56);
    return all;
  }
  std::string error() const {
    const auto program = parse_elf(bytes());
    return program.ok() ? "" : program.error().message;
  }
};

TEST(Elf, LoadsSegmentsWithZeroedTailAndBss) {
  const File file;
  const auto bytes = file.bytes();
  auto program = parse_elf(bytes);
  ASSERT_TRUE(program.ok()) << program.error().message;
  AddressSpace memory(64 << 20);
  auto loaded = load_program(*program, memory);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->entry, 0x400100u);
  EXPECT_EQ(loaded->phdr_address, 0x400040u);
  EXPECT_EQ(loaded->brk_start, 0x406000u);
  std::vector<u8> text(0x200), data(0x80), bss(0x2f00);
  ASSERT_TRUE(memory.read(0x400000, text.data(), text.size()));
  EXPECT_EQ(0, std::memcmp(text.data(), bytes.data(), text.size()));
  ASSERT_TRUE(memory.read(0x402100, data.data(), data.size()));
  EXPECT_EQ(0, std::memcmp(data.data(), bytes.data() + 0x1100, data.size()));
  ASSERT_TRUE(memory.read(0x402180, bss.data(), bss.size()));
  for (const u8 byte : bss) ASSERT_EQ(byte, 0);
  EXPECT_FALSE(memory.write(0x400000, "x", 1));
  EXPECT_TRUE(memory.write(0x402100, "x", 1));
  EXPECT_TRUE(memory.write(0x404000, "x", 1));
}

TEST(Elf, GuestsShareNothingTheyWrite) {
  auto program = parse_elf(File().bytes());
  ASSERT_TRUE(program.ok());
  AddressSpace first(64 << 20), second(64 << 20);
  ASSERT_TRUE(load_program(*program, first).ok());
  ASSERT_TRUE(load_program(*program, second).ok());
  u8 before = 0, after = 0;
  ASSERT_TRUE(second.read(0x402100, &before, 1));
  ASSERT_TRUE(first.write(0x402100, "\xee", 1));
  ASSERT_TRUE(second.read(0x402100, &after, 1));
  EXPECT_EQ(before, after);
}

TEST(Elf, PositionIndependentProgramsGoToTheFixedBase) {
  File file;
  file.header.type = 3;
  file.text.vaddr = 0;
  file.data.vaddr = 0x2100;
  file.header.entry = 0x100;
  auto program = parse_elf(file.bytes());
  ASSERT_TRUE(program.ok()) << program.error().message;
  AddressSpace memory(64 << 20);
  auto loaded = load_program(*program, memory);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->bias, kPieBase);
  EXPECT_EQ(loaded->entry, kPieBase + 0x100);
  EXPECT_EQ(loaded->phdr_address, kPieBase + 0x40);
}

TEST(Elf, BssSegmentThatBeginsInTheDataPageKeepsTheData) {
  File file;
  file.text = {1, 6, 0x100, 0x400100, 0, 0x100, 0x100, 0x1000};
  file.data = {1, 6, 0, 0x400300, 0, 0, 0x2000, 0x1000};
  const auto bytes = file.bytes();
  auto program = parse_elf(bytes);
  ASSERT_TRUE(program.ok());
  AddressSpace memory(64 << 20);
  ASSERT_TRUE(load_program(*program, memory).ok());
  u8 byte = 0;
  ASSERT_TRUE(memory.read(0x4001ff, &byte, 1));
  EXPECT_EQ(byte, bytes[0x1ff]);
  ASSERT_TRUE(memory.read(0x4022ff, &byte, 1));
  EXPECT_EQ(byte, 0);
}

TEST(Elf, NamesWhatIsWrong) {
  const auto with = [](auto change) {
    File file;
    change(file);
    return file.error();
  };
  EXPECT_EQ(with([](File&) {}), "");
  EXPECT_NE(with([](File& f) { f.header.ident[0] = 0; }).find("no ELF"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.ident[4] = 1; }).find("32-bit"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.ident[5] = 2, f.header.machine = 0xb700; }).find("big-endian"),
            std::string::npos);
  EXPECT_EQ(with([](File& f) { f.header.machine = 62; }),
            "this is an x86-64 program; KVRM runs ARM64 (AArch64) programs");
  EXPECT_NE(with([](File& f) {
              f.header.machine = 40;
              f.header.ident[4] = 1;
            }).find("a 32-bit ARM program"),
            std::string::npos);
  EXPECT_NE(with([](File& f) {
              f.header.machine = __builtin_bswap16(21);
              f.header.ident[5] = 2;
            }).find("a 64-bit PowerPC program"),
            std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.machine = 999; }).find("999"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.type = 1; }).find("no executable"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.phnum = 0; }).find("no program headers"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.phnum = 0xffff; }).find("more program headers"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.phoff = ~u64{0}; }).find("outside the file"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.header.phentsize = 32; }).find("56 bytes"), std::string::npos);
  EXPECT_NE(with([](File& f) {
              f.text.filesz = 0x10000;
              f.text.memsz = 0x10000;
            }).find("outside the file"),
            std::string::npos);
  EXPECT_NE(with([](File& f) { f.text.offset = ~u64{0} - 0xfff; }).find("outside the file"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.text.memsz = 0x100; }).find("more bytes"), std::string::npos);
  EXPECT_NE(with([](File& f) {
              f.data.vaddr = 0x400100;
              f.data.offset = 0x100;
            }).find("overlap"),
            std::string::npos);
  EXPECT_NE(with([](File& f) { f.data.vaddr = ~u64{0} - 0x2eff; }).find("48-bit"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.data.memsz = ~u64{0}; }).find("48-bit"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.data.vaddr = 0x402101; }).find("within the page"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.text.vaddr = 0x1000; }).find("below 0x10000"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.data.vaddr = kStackTop - 0xf00; }).find("collide"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.data.type = 3; }).find("-static"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.text.type = f.data.type = 4; }).find("nothing to load"), std::string::npos);
  EXPECT_NE(with([](File& f) { f.text.align = u64{1} << 63; }).find("alignment"), std::string::npos);
  File pie;
  pie.header.type = 3;
  pie.data.memsz = u64{1} << 46;
  EXPECT_NE(pie.error().find("does not fit"), std::string::npos);
}

TEST(Elf, ProgramLargerThanMemoryIsAnError) {
  File file;
  file.data.memsz = u64{1} << 36;
  auto program = parse_elf(file.bytes());
  ASSERT_TRUE(program.ok());
  AddressSpace memory(1 << 20);
  (void)load_program(*program, memory);  // an error or lazily mapped, but no crash
}

TEST(Elf, EveryTruncationIsAnErrorOrAProgram) {
  const auto whole = File().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto program = parse_elf(std::span(whole).first(size));
    EXPECT_EQ(program.ok(), size >= 0x1180) << size;
    if (!program.ok()) {
      EXPECT_EQ(program.error().message.find('\n'), std::string::npos);
    }
  }
}

TEST(Elf, FlippedBitsNeverCrash) {
  const auto whole = File().bytes();
  for (std::size_t bit = 0; bit < 176 * 8; ++bit) {
    auto bytes = whole;
    bytes[bit / 8] = u8(bytes[bit / 8] ^ 1u << bit % 8);
    auto program = parse_elf(bytes);
    if (!program.ok()) continue;
    AddressSpace memory(16 << 20);
    (void)load_program(*program, memory);
  }
}

TEST(Elf, RandomHeadersNeverCrash) {
  std::mt19937_64 random(1);
  const auto whole = File().bytes();
  for (int round = 0; round < 20000; ++round) {
    auto bytes = whole;
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = 16 + random() % 20 * 8;
      const u64 values[] = {0, 1, ~u64{0}, u64{1} << 63, u64{1} << 47, 0xfff, 0x1000, random()};
      std::memcpy(bytes.data() + at, &values[random() % 8], 8);
    }
    auto program = parse_elf(bytes);
    if (!program.ok()) continue;
    AddressSpace memory(16 << 20);
    (void)load_program(*program, memory);
  }
}

}  // namespace
}  // namespace kvrm::linux_abi
