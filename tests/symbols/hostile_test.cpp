// Damaged files of every kind: an error or some result, never a crash.
#include <gtest/gtest.h>

#include "code.h"
#include "symbols/discover.h"
#include "symbols/library.h"
#include "symbols/match.h"

namespace kvrm::symbols {
namespace {

// Bytes of an index file with a checksum that is right.
std::vector<u8> sealed(std::vector<u8> file) {
  const u64 checksum = hash_of(file.data() + 16, file.size() - 16);
  std::memcpy(file.data() + 8, &checksum, sizeof(checksum));
  return file;
}

Image some_library() {
  Image image;
  for (u32 i = 0; i < 12; ++i) image.routines.push_back(routine("r" + std::to_string(i), code(i, 20)));
  image.routines[3].calls = {5, 7};
  return image;
}

TEST(SymbolHostile, DamagedIndexesAreRefused) {
  const std::vector<u8> file = Index::build(some_library(), {{"lib", "1"}}).serialize();
  EXPECT_FALSE(Index::parse({}).ok());
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(Index::parse(std::span(file).first(size)).ok());
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::vector<u8> damaged = file;
    damaged[i] ^= 0x55;
    EXPECT_FALSE(Index::parse(damaged).ok());
  }
}

TEST(SymbolHostile, IndexesThatLieDoNotCrash) {
  const Image image = some_library();
  const std::vector<u8> file = Index::build(image, {{"lib", "1"}}).serialize();
  std::mt19937 random(1);
  for (u32 round = 0; round < 4000; ++round) {
    std::vector<u8> damaged = file;
    for (u32 n = random() % 4; n != ~0u; --n) damaged[16 + random() % (file.size() - 16)] = static_cast<u8>(random());
    if (random() % 4 == 0) damaged.resize(17 + random() % (file.size() - 17));
    const auto index = Index::parse(sealed(damaged));
    if (index) (void)match(index.value(), image);
  }
}

TEST(SymbolHostile, DamagedProgramsDoNotCrash) {
  std::vector<u32> words = {bl(8), kRet, kNop, kNop};
  for (u32 i = 0; i < 8; ++i) {
    const auto more = code(i, 10);
    words.insert(words.end(), more.begin(), more.end());
  }
  const std::vector<u8> file = program(words);
  std::mt19937 random(2);
  for (u32 round = 0; round < 4000; ++round) {
    std::vector<u8> damaged = file;
    // Headers more often than code, and not what says that it is an ELF file.
    for (u32 n = random() % 6; n != ~0u; --n) {
      damaged[24 + random() % ((random() % 4 == 0 ? file.size() : 128) - 24)] = static_cast<u8>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % file.size());
    const auto linked = Linked::open(damaged);
    if (linked) (void)discover(linked.value());
  }
}

TEST(SymbolHostile, RandomUnwindTablesDoNotCrash) {
  std::mt19937 random(3);
  for (u32 round = 0; round < 4000; ++round) {
    std::vector<u8> table(random() % 200);
    for (u8& byte : table) byte = static_cast<u8>(random() % (random() % 2 == 0 ? 256 : 32));
    (void)read_unwind_ranges(0x1000, table);
  }
}

TEST(SymbolHostile, DamagedArchivesAreRefused) {
  const std::string magic = "!<arch>\n";
  std::string member(60, ' ');
  member.replace(0, 4, "a.o/");
  member.replace(48, 3, "999");
  const std::string cut = magic + member + "short";
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const u8*>(text.data()), text.size());
  };
  EXPECT_FALSE(Linker().add(bytes(cut), 0).ok());
  EXPECT_FALSE(Linker().add(bytes("text"), 0).ok());
  EXPECT_TRUE(Linker().add(bytes(magic), 0).ok());
}

}  // namespace
}  // namespace kvrm::symbols
