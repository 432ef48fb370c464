#include "llvm_disassembler.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>

namespace kvrm::test {

struct LlvmDisassembler::Parts {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

LlvmDisassembler::LlvmDisassembler() : parts_(std::make_unique<Parts>()) {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64Disassembler();
  const llvm::Triple triple("aarch64");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  Parts& p = *parts_;
  p.registers.reset(target->createMCRegInfo(triple.str()));
  p.assembly.reset(target->createMCAsmInfo(*p.registers, triple.str(), p.options));
  p.instructions.reset(target->createMCInstrInfo());
  p.subtarget.reset(target->createMCSubtargetInfo(triple.str(), "neoverse-n1", ""));
  p.context = std::make_unique<llvm::MCContext>(triple, p.assembly.get(), p.registers.get(), p.subtarget.get());
  p.disassembler.reset(target->createMCDisassembler(*p.subtarget, *p.context));
  p.printer.reset(target->createMCInstPrinter(triple, p.assembly->getAssemblerDialect(), *p.assembly, *p.instructions,
                                              *p.registers));
}

LlvmDisassembler::~LlvmDisassembler() = default;

std::optional<std::string> LlvmDisassembler::text(std::uint32_t word) const {
  std::array<std::uint8_t, 4> bytes;
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
  llvm::MCInst instruction;
  std::uint64_t size = 0;
  const auto status = parts_->disassembler->getInstruction(instruction, size, bytes, 0, llvm::nulls());
  // A soft failure is an encoding the manual calls unpredictable: llvm-mc warns and prints it all the same.
  if (status == llvm::MCDisassembler::Fail) return std::nullopt;
  std::string text;
  llvm::raw_string_ostream stream(text);
  parts_->printer->printInst(&instruction, 0, "", *parts_->subtarget, stream);
  stream.flush();
  text.erase(std::min(text.find(" //"), text.size()));  // remarks such as "acquire semantics dropped"
  return text.substr(text.find_first_not_of(" \t"));
}

}  // namespace kvrm::test
