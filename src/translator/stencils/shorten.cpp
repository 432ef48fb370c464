#include "translator/stencils/shorten.h"

#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <span>

namespace kvrm::translator::stencils {
namespace {

constexpr u8 kRexFirst = 0x40, kRexLast = 0x4f, kVex2 = 0xc5, kVex3 = 0xc4, kEscape = 0x0f;
constexpr u8 kRexW = 0x48, kRexR = 0x04, kRexX = 0x02, kMov = 0xb8, kMovMask = 0xf8;
constexpr u8 kImmediate32 = 0x81;  // ADD, CMP, ... with an immediate of four bytes; two more is that of one byte

// Where the opcode's last byte is: ModRM follows it.
u32 opcode_at(std::span<const u8> bytes) {
  u32 at = 0;
  for (const u8 prefix : bytes) {
    if (prefix != 0x66 && prefix != 0xf2 && prefix != 0xf3 && prefix != 0x2e && prefix != 0x64 && prefix != 0x65) break;
    ++at;
  }
  if (bytes[at] == kVex2) return at + 2;
  if (bytes[at] == kVex3) return at + 3;
  if (bytes[at] >= kRexFirst && bytes[at] <= kRexLast) ++at;
  if (bytes[at] != kEscape) return at;
  return bytes[at + 1] == 0x38 || bytes[at + 1] == 0x3a ? at + 2 : at + 1;
}

// MOV of an immediate to a register: without REX.W it has four bytes, and the upper half becomes zero.
void shorten_wide(std::span<const u8> instruction, u32 at, Relocation& hole) {
  if (at != 2 || (instruction[0] & (kRexW | 0xf0 | kRexR | kRexX)) != kRexW || (instruction[1] & kMovMask) != kMov)
    return;
  hole.shortening = Shortening::kWide;
  hole.back = 2;
}

// `at`: the offset of the hole in the instruction.
void shorten(std::span<const u8> instruction, u32 at, Relocation& hole) {
  const u32 opcode = opcode_at(instruction), modrm = opcode + 1;
  if (modrm >= at) return;  // it has no ModRM byte: the immediate belongs to the opcode
  const u8 form = instruction[modrm];
  const bool has_memory = form < 0xc0, has_sib = has_memory && (form & 7) == 4;
  const u32 displacement = modrm + 1 + has_sib;
  if (has_memory && form >> 6 == 2 && at == displacement) {
    hole.shortening = Shortening::kDisplacement;
    hole.back = static_cast<u8>(at - modrm);
  } else if (instruction[opcode] == kImmediate32 && opcode + 1 == modrm && at + 4 == instruction.size() &&
             (form & 0xc7) != 0x05) {  // not where the displacement is relative to the instruction's end
    hole.shortening = Shortening::kImmediate;
    hole.back = static_cast<u8>(at - opcode);
  }
}

}  // namespace

Shortener::Shortener(const llvm::TargetMachine& target)
    : context_(std::make_unique<llvm::MCContext>(target.getTargetTriple(), target.getMCAsmInfo(),
                                                 target.getMCRegisterInfo(), target.getMCSubtargetInfo())),
      disassembler_(target.getTarget().createMCDisassembler(*target.getMCSubtargetInfo(), *context_)) {}

Shortener::~Shortener() = default;

void Shortener::run(const std::vector<u8>& code, std::vector<Relocation>& relocations) const {
  for (u64 at = 0; at < code.size();) {
    llvm::MCInst ignored;
    std::uint64_t size = 0;
    const llvm::ArrayRef<u8> rest(code.data() + at, code.size() - at);
    if (disassembler_->getInstruction(ignored, size, rest, at, llvm::nulls()) != llvm::MCDisassembler::Success) return;
    for (Relocation& one : relocations) {
      if (one.offset < at || one.offset >= at + size || one.target != TargetKind::kHole) continue;
      const std::span<const u8> instruction(code.data() + at, size);
      const auto offset = static_cast<u32>(one.offset - at);
      if (one.kind == RelocationKind::kAbsolute32) shorten(instruction, offset, one);
      if (one.kind == RelocationKind::kAbsolute64) shorten_wide(instruction, offset, one);
    }
    at += size;
  }
}

}  // namespace kvrm::translator::stencils
