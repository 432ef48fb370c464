#include "kvrm/inspect.h"

#include <thread>

#include "isa/disassemble.h"
#include "linux/elf.h"
#include "linux/start.h"
#include "semantics/meaning.h"

namespace kvrm {

std::string disassemble(std::uint32_t word, std::uint64_t address) { return isa::disassemble(word, address); }

Result<std::vector<CodeSegment>> executable_segments(std::span<const std::uint8_t> elf) {
  auto program = linux_abi::parse_elf(elf);
  if (!program) return program.error();
  std::vector<CodeSegment> segments;
  for (const auto& piece : program->pieces) {
    if (!(piece.protection & memory::kExecute) || piece.source == linux_abi::Program::Piece::Source::kZero) continue;
    const auto& image = piece.source == linux_abi::Program::Piece::Source::kFile ? program->file : program->tails;
    const std::uint8_t* bytes = image->page(piece.offset);
    segments.push_back({piece.address, {bytes, bytes + piece.size}});
  }
  return segments;
}

Information information() {
  unsigned implemented = 0;
#define KVRM_COUNT(name) ++implemented;
  KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_COUNT)
#undef KVRM_COUNT
  return {linux_abi::kHwcap, isa::kRowCount, implemented, std::thread::hardware_concurrency()};
}

std::string_view version() { return KVRM_VERSION; }

}  // namespace kvrm
