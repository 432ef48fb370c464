// Which holes of a stencil could be smaller. A displacement or an immediate that fits into a signed byte has a shorter
// form in x86-64, and so has a MOV of eight bytes whose upper half is zero; whether a hole's value fits is known for
// each word.
#pragma once

#include <memory>
#include <vector>

#include "base/types.h"
#include "translator/stencils/format.h"

namespace llvm {
class MCContext;
class MCDisassembler;
class TargetMachine;
}  // namespace llvm

namespace kvrm::translator::stencils {

class Shortener {
 public:
  explicit Shortener(const llvm::TargetMachine& target);
  ~Shortener();

  // Sets `shortening` and `back` of the relocations of these instructions.
  void run(const std::vector<u8>& code, std::vector<Relocation>& relocations) const;

 private:
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

}  // namespace kvrm::translator::stencils
