// Every row against LLVM's disassembler, character by character.
#include "isa/disassembler/disassemble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "divergences.h"
#include "isa/a64_asm_table.h"
#include "isa/a64_names.h"
#include "llvm_disassembler.h"
#include "random_words.h"

namespace kvrm::test {
namespace {

constexpr u32 kWordsPerRow = 3000;
constexpr u32 kShownPerRow = 5;

bool is_listed(u32 word) {
  return std::any_of(kDivergences.begin(), kDivergences.end(),
                     [word](const Divergence& entry) { return (word & entry.mask) == entry.bits; });
}

struct Comparison {
  u32 words = 0, listed = 0, different = 0;
};

void compare(const LlvmDisassembler& llvm, u32 word, Comparison& result) {
  ++result.words;
  const std::string expected = llvm.text(word).value_or("(unknown to LLVM)");
  const std::string actual = isa::disassemble(word, 0);
  if (actual == expected) return;
  if (is_listed(word)) {
    ++result.listed;
  } else if (++result.different <= kShownPerRow) {
    std::printf("  %08x  ours: %s\n            LLVM: %s\n", word, actual.c_str(), expected.c_str());
  }
}

TEST(Disasm, RowsAndTemplatesBelongTogether) {
  EXPECT_EQ(isa::kAsmRowsWithoutTemplate, 0u);
  EXPECT_EQ(isa::kAsmTemplatesWithoutRow, 0u);
}

TEST(Disasm, EveryRowIsAsLlvmPrintsIt) {
  const LlvmDisassembler llvm;
  u32 exact = 0;
  u64 words = 0;
  for (u32 number = 0; number < isa::kRowCount; ++number) {
    Comparison result;
    const char* name = isa::kRowNames[number];
    for (u32 word : RandomWords(static_cast<isa::Row>(number)).take(kWordsPerRow)) {
      compare(llvm, word, result);
    }
    words += result.words;
    EXPECT_GT(result.words, 0u) << name;
    EXPECT_EQ(result.different, 0u) << name << ": of " << result.words << " words";
    exact += result.different == 0 && result.listed == 0;
    if (result.listed) std::printf("%s: %u of %u words as listed\n", name, result.listed, result.words);
  }
  std::printf("%u of %u rows exact, %llu words compared\n", exact, isa::kRowCount, words);
}

// The comparison above says something about an alias only if it met words of the alias.
TEST(Disasm, TheWordsReachEveryTemplate) {
  std::vector<bool> reached(std::size(isa::kAsmLines));
  for (u32 number = 0; number < isa::kRowCount; ++number) {
    const isa::AsmRange& lines = isa::kAsmRows[number];
    for (u32 word : RandomWords(static_cast<isa::Row>(number)).take(kWordsPerRow)) {
      u32 line = lines.first;
      while (!isa::evaluate(isa::kAsmLines[line].condition, word)) ++line;
      reached[line] = true;
    }
    for (u32 line = lines.first; line < lines.first + lines.count; ++line) {
      EXPECT_TRUE(reached[line]) << isa::kRowNames[number] << ", template " << line - lines.first;
    }
  }
}

// Names are sparse, so random words would miss most of them.
TEST(Disasm, EverySystemRegisterAndInstruction) {
  const LlvmDisassembler llvm;
  Comparison result;
  for (u32 number = 0; number < 1u << 15; ++number) {
    for (u32 base : {0xd5100000u, 0xd5300000u}) compare(llvm, base | number << 5 | (number & 31), result);
  }
  for (u32 number = 0; number < 1u << 14; ++number) {
    for (u32 rt : {0u, 7u, 31u}) compare(llvm, 0xd5080000u | number << 5 | rt, result);
  }
  for (u32 number = 0; number < 128; ++number) compare(llvm, 0xd503201fu | number << 5, result);
  EXPECT_EQ(result.different, 0u);
}

}  // namespace
}  // namespace kvrm::test
