// Which words are instructions: our table against LLVM's AArch64 disassembler. Every top half of a word with random
// low halves, random words, and words near the rows; what differs must be in allocation_differences.h.
#include "allocation_differences.h"

#include <gtest/gtest.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <array>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "isa/a64_names.h"
#include "isa/decode.h"

namespace kvrm::test {
namespace {

using isa::Row;

// Decodes without printing: about a quarter of a microsecond a word.
class Llvm {
 public:
  Llvm() {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
    const llvm::Triple triple("aarch64");
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
    if (!target) throw std::runtime_error(error);
    registers_.reset(target->createMCRegInfo(triple.str()));
    assembly_.reset(target->createMCAsmInfo(*registers_, triple.str(), options_));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple.str(), "neoverse-n1", ""));
    context_ = std::make_unique<llvm::MCContext>(triple, assembly_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }

  // A soft failure is an allocated encoding whose behavior the manual leaves open.
  bool accepts(u32 word) {
    std::array<std::uint8_t, 4> bytes;
    for (u32 i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
    std::uint64_t size = 0;
    instruction_ = llvm::MCInst();  // LLVM reads the opcode even of a word it rejects
    return disassembler_->getInstruction(instruction_, size, bytes, 0, llvm::nulls()) != llvm::MCDisassembler::Fail;
  }

  // LLVM's name for the word, if it accepts it.
  std::string name(u32 word) {
    return accepts(word) ? instructions_->getName(instruction_.getOpcode()).str() : "unallocated";
  }

 private:
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  llvm::MCInst instruction_;
};

bool allocated(u32 word) { return isa::decode(word) != Row::kNone; }

bool covered(const LlvmOnly& rule, u32 word) { return (word & rule.mask) == rule.bits; }

class Allocation : public ::testing::Test {
 protected:
  void compare(u32 word) {
    const bool ours = allocated(word);
    const bool theirs = llvm().accepts(word);
    ++words_;
    if (ours == theirs) return;
    if (theirs) {
      for (const LlvmOnly& rule : kLlvmOnly) {
        if (covered(rule, word)) return;
      }
    }
    if (++differences_ > 40) return;
    const Row row = isa::decode(word);
    ADD_FAILURE() << std::hex << "0x" << word << ": ours "
                  << (ours ? isa::kRowNames[static_cast<u32>(row)] : "unallocated") << ", LLVM " << llvm().name(word);
  }

  void TearDown() override {
    EXPECT_EQ(differences_, 0u) << "of " << words_ << " words";
    RecordProperty("words", std::to_string(words_));
  }

  static Llvm& llvm() {
    static Llvm instance;
    return instance;
  }

  u32 random() { return static_cast<u32>(random_()); }

 private:
  std::mt19937 random_{20240607};
  u64 words_ = 0;
  u64 differences_ = 0;
};

TEST_F(Allocation, EveryTopHalf) {
  for (u32 top = 0; top < 0x10000; ++top) {
    for (u32 i = 0; i < 32; ++i) compare(top << 16 | (random() & 0xffff));
  }
}

TEST_F(Allocation, RandomWords) {
  for (u32 i = 0; i < 12'000'000; ++i) compare(random());
}

// Uniform words seldom hit the narrow rows: start from a row, flip up to three bits.
TEST_F(Allocation, WordsNearTheRows) {
  for (u32 i = 0; i < 12'000'000; ++i) {
    const isa::RowFacts& facts = isa::kRowFacts[i % isa::kRowCount];
    u32 word = (random() & ~facts.mask) | facts.bits;
    for (u32 flips = random() % 4; flips > 0; --flips) word ^= 1u << random() % 32;
    compare(word);
  }
}

TEST_F(Allocation, EveryRuleIsNeeded) {
  for (const LlvmOnly& rule : kLlvmOnly) {
    EXPECT_EQ(rule.bits & ~rule.mask, 0u) << rule.reason;
    bool needed = false;
    for (u32 i = 0; i < 1000 && !needed; ++i) {
      const u32 word = (random() & ~rule.mask) | rule.bits;
      needed = llvm().accepts(word) && !allocated(word);
    }
    EXPECT_TRUE(needed) << rule.reason;
  }
}

// The whole space, about twenty minutes:
//   allocation_test --gtest_also_run_disabled_tests --gtest_filter='*EveryWord'
TEST_F(Allocation, DISABLED_EveryWord) {
  u32 word = 0;
  do compare(word);
  while (++word != 0);
}

}  // namespace
}  // namespace kvrm::test
