// LLVM's AArch64 disassembler, in process: the oracle of these tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kvrm::test {

class LlvmDisassembler {
 public:
  LlvmDisassembler();
  ~LlvmDisassembler();

  // What `llvm-mc-19 --disassemble -triple=aarch64 -mcpu=neoverse-n1` prints for the word, without leading
  // white space and comments; nothing when LLVM knows no such instruction.
  std::optional<std::string> text(std::uint32_t word) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::test
