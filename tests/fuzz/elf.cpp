// Random ELF files: checked, mapped, and started as a process, exactly as `kvrm run` does it.
//
// Promised: a file is refused with a message, or everything the checked program says holds when it is mapped.
#include "linux/elf.h"
#include "base/cpu.h"
#include "input.h"
#include "linux/elf_code.h"
#include "linux/freestanding/layout.h"
#include "linux/process.h"
#include "memory/address_space.h"
#include "symbols/discover.h"
#include "symbols/library.h"

namespace kvrm::fuzz {
namespace {

using linux_abi::Program;

constexpr u64 kMemoryLimit = u64{16} << 20;

void promise_sound(const Program& program) {
  KVRM_PROMISE(program.low % memory::kPageSize == 0 && program.high % memory::kPageSize == 0);
  KVRM_PROMISE(program.low <= program.high && program.image_end <= program.high);
  for (const Program::Piece& piece : program.pieces) {
    KVRM_PROMISE(piece.size != 0 && piece.size % memory::kPageSize == 0 && piece.address % memory::kPageSize == 0);
    // Two segments may share a page; the later one has it, as on Linux.
    KVRM_PROMISE(piece.address >= program.low && piece.size <= program.high - piece.address);
    if (piece.source == Program::Piece::Source::kZero) continue;
    const auto& image = piece.source == Program::Piece::Source::kFile ? program.file : program.tails;
    KVRM_PROMISE(image && piece.offset <= image->padded_size() && piece.size <= image->padded_size() - piece.offset);
  }
}

void promise_loaded(const Program& program) {
  memory::AddressSpace space(kMemoryLimit);
  auto loaded = linux_abi::load_program(program, space);
  if (!loaded) {
    KVRM_PROMISE(!loaded.error().message.empty());
    return;
  }
  KVRM_PROMISE(loaded->entry == program.entry + loaded->bias && loaded->brk_start % memory::kPageSize == 0);
  for (const Program::Piece& piece : program.pieces) {
    KVRM_PROMISE(space.is_mapped(piece.address + loaded->bias, piece.size));
    u8 byte = 0;
    KVRM_PROMISE(space.peek(piece.address + loaded->bias, &byte, 1));
    KVRM_PROMISE(space.peek(piece.address + loaded->bias + piece.size - 1, &byte, 1));
  }
}

void promise_started(const Program& program) {
  memory::AddressSpace space(kMemoryLimit);
  linux_abi::ProcessOptions options;
  options.args = {"guest", "argument"};
  options.env = {"LC_ALL=C"};
  options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
  auto process = linux_abi::Process::create(std::move(options));
  KVRM_PROMISE(process.ok());
  Cpu cpu{};
  auto started = process->start(program, cpu, space);
  if (!started) {
    KVRM_PROMISE(!started.error().message.empty());
    return;
  }
  u64 count = 0;
  KVRM_PROMISE(space.read(cpu.x[kSpSlot], &count, sizeof count) && count == 2);
  KVRM_PROMISE(cpu.x[kSpSlot] % 16 == 0 && cpu.x[kZeroSlot] == 0);
}

}  // namespace
}  // namespace kvrm::fuzz

// What a disassembler would print.
static void promise_code(std::span<const std::uint8_t> bytes) {
  auto code = kvrm::linux_abi::find_code(bytes);
  if (!code) return;
  for (const auto& one : *code) {
    KVRM_PROMISE(one.bytes.data() >= bytes.data() && one.bytes.size() <= bytes.size());
    KVRM_PROMISE(one.bytes.data() + one.bytes.size() <= bytes.data() + bytes.size());
    for (std::size_t i = 1; i < one.symbols.size(); ++i) {
      KVRM_PROMISE(one.symbols[i - 1].address <= one.symbols[i].address);
    }
  }
}

// Names of routines: whatever the file is, reading it ends.
static void promise_routines(std::span<const std::uint8_t> bytes) {
  if (const auto linked = kvrm::symbols::Linked::open(bytes)) {
    for (const auto& one : kvrm::symbols::discover(linked.value()).routines) {
      KVRM_PROMISE(one.size % 4 == 0 && one.words.size() * 4 == one.size && one.size <= bytes.size());
    }
  }
  kvrm::symbols::Linker linker;
  if (linker.add(bytes, 0).ok()) (void)linker.link();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  promise_code({data, size});
  promise_routines({data, size});
  auto program = kvrm::linux_abi::parse_elf({data, size});
  if (!program) {
    KVRM_PROMISE(!program.error().message.empty() && program.error().message.find('\n') == std::string::npos);
    return 0;
  }
  kvrm::fuzz::promise_sound(*program);
  kvrm::fuzz::promise_loaded(*program);
  kvrm::fuzz::promise_started(*program);
  return 0;
}
