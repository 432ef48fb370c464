#include "linux/elf.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "linux/elf_format.h"
#include "linux/freestanding/layout.h"

namespace kvrm::linux_abi {
namespace {

using memory::kAddressLimit;
using memory::kPageSize;

constexpr u16 kTypeExec = 2, kTypeDyn = 3, kMachineAArch64 = 183;
constexpr u64 kMaxAlignment = 1 << 30;

Error bad(std::string what) { return Error{"not a program this machine can run: " + std::move(what)}; }

// Machines that people have programs for.
std::string machine_name(u16 machine) {
  switch (machine) {
    case 3: return "a 32-bit x86";
    case 8: return "a MIPS";
    case 20: return "a 32-bit PowerPC";
    case 21: return "a 64-bit PowerPC";
    case 22: return "an s390";
    case 40: return "a 32-bit ARM";
    case 43: return "a SPARC";
    case 50: return "an Itanium";
    case 62: return "an x86-64";
    case 243: return "a RISC-V";
    case 258: return "a LoongArch";
    default: return {};
  }
}

std::optional<Error> check_header(std::span<const u8> bytes) {
  if (auto error = check_identity(bytes)) return error;
  const auto header = read_as<ElfHeader>(bytes, 0);
  if (header.type != kTypeExec && header.type != kTypeDyn)
    return bad("ELF type " + std::to_string(header.type) + " is no executable (object file or core dump?)");
  if (header.phentsize != sizeof(ProgramHeader)) return bad("its program headers are not 56 bytes each");
  if (header.phnum == 0) return bad("it has no program headers");
  const u64 table = u64{header.phnum} * sizeof(ProgramHeader);
  if (table > 65536) return bad("it has more program headers than Linux accepts (64 KiB)");
  if (header.phoff > bytes.size() || table > bytes.size() - header.phoff)
    return bad("its program headers lie outside the file");
  return std::nullopt;
}

std::optional<Error> check_segment(const ProgramHeader& segment, u64 file_size) {
  if (segment.filesz > segment.memsz) return bad("a segment has more bytes in the file than in memory");
  if (segment.offset > file_size || segment.filesz > file_size - segment.offset)
    return bad("a segment lies outside the file (is the file cut short?)");
  if (segment.vaddr >= kAddressLimit || segment.memsz > kAddressLimit - segment.vaddr)
    return bad("a segment lies outside the 48-bit address space");
  if (segment.filesz != 0 && segment.offset % kPageSize != segment.vaddr % kPageSize)
    return bad("a segment's file offset and address differ within the page");
  if (segment.align > kMaxAlignment) return bad("a segment wants more than 1 GiB of alignment");
  return std::nullopt;
}

u32 protection_of(u32 flags) {
  u32 protection = memory::kNoAccess;
  // Without FEAT_EPAN the page tables know neither execute-only nor write-only user pages.
  if (flags & (kPfR | kPfW | kPfX)) protection |= memory::kRead;
  if (flags & kPfW) protection |= memory::kWrite;
  if (flags & kPfX) protection |= memory::kExecute;
  return protection;
}

// Cuts one segment into runs of whole pages. What comes before the segment's first byte in its first page
// is whatever the file holds there, as with Linux's mmap of the file.
void add_pieces(Program& program, const ProgramHeader& segment, std::span<const u8> bytes, u64 covered,
                std::vector<u8>& tails) {
  using Source = Program::Piece::Source;
  const u32 protection = protection_of(segment.flags);
  u64 at = page_down(segment.vaddr);
  const u64 file_end = segment.vaddr + segment.filesz;
  const u64 end = page_up(segment.vaddr + segment.memsz);
  if (segment.filesz != 0) {
    u64 offset = page_down(segment.offset);
    const u64 whole = page_down(file_end) - at;
    if (whole != 0) program.pieces.push_back({Source::kFile, at, whole, offset, protection});
    at += whole;
    offset += whole;
    if (at < file_end) {
      const u64 tail = tails.size();
      tails.resize(tail + kPageSize, 0);
      std::memcpy(tails.data() + tail, bytes.data() + offset, file_end - at);
      program.pieces.push_back({Source::kTails, at, kPageSize, tail, protection});
      at += kPageSize;
    }
  }
  // A pure bss segment may begin in the page where the segment before it ends: that page stays.
  if (segment.filesz == 0 && at < covered && covered <= segment.vaddr) at = page_up(covered);
  if (at < end) program.pieces.push_back({Source::kZero, at, end - at, 0, protection});
}

std::optional<Error> check_overlap(std::vector<ProgramHeader> loads) {
  std::sort(loads.begin(), loads.end(),
            [](const ProgramHeader& a, const ProgramHeader& b) { return a.vaddr < b.vaddr; });
  for (std::size_t i = 1; i < loads.size(); ++i)
    if (loads[i - 1].vaddr + loads[i - 1].memsz > loads[i].vaddr) return bad("two segments overlap");
  return std::nullopt;
}

std::optional<Error> collect(Program& program, std::span<const u8> bytes, const ElfHeader& header,
                             std::vector<ProgramHeader>& loads) {
  for (u64 i = 0; i < header.phnum; ++i) {
    const auto segment = read_as<ProgramHeader>(bytes, header.phoff + i * sizeof(ProgramHeader));
    if (segment.type == kPtInterp)
      return Error{"dynamically linked programs are not supported yet: link the program with -static"};
    if (segment.type == kPtGnuStack) program.executable_stack = (segment.flags & kPfX) != 0;
    if (segment.type != kPtLoad || segment.memsz == 0) continue;
    if (auto error = check_segment(segment, bytes.size())) return error;
    loads.push_back(segment);
  }
  if (loads.empty()) return bad("it has nothing to load");
  return check_overlap(loads);
}

// ET_EXEC programs name their own addresses; they must leave room for what layout.h puts elsewhere.
std::optional<Error> check_addresses(const Program& program) {
  if (program.position_independent) {
    if (program.high - program.low > kMmapTop - kPieBase - kMaxAlignment)
      return bad("it does not fit into the address space");
    return std::nullopt;
  }
  if (program.low < kLowestAddress) return bad("it is linked below 0x10000, where Linux maps nothing");
  if (program.low < kTrampoline + kPageSize && program.high > kMmapTop)
    return bad("its addresses collide with the stack");
  return std::nullopt;
}

Result<Program> parse(std::shared_ptr<const memory::Image> file) {
  const std::span<const u8> bytes = file->bytes();
  if (auto error = check_header(bytes)) return *error;
  const auto header = read_as<ElfHeader>(bytes, 0);
  Program program;
  program.position_independent = header.type == kTypeDyn;
  program.entry = header.entry;
  program.phdr_count = header.phnum;
  std::vector<ProgramHeader> loads;
  if (auto error = collect(program, bytes, header, loads)) return *error;

  std::vector<u8> tails;
  program.low = kAddressLimit;
  for (const auto& segment : loads) {
    program.low = std::min(program.low, page_down(segment.vaddr));
    // Like Linux, ignore alignments that are no power of two.
    if (segment.align != 0 && (segment.align & (segment.align - 1)) == 0)
      program.alignment = std::max(program.alignment, segment.align);
    if (header.phoff >= segment.offset && header.phoff - segment.offset < segment.filesz)
      program.phdr_address = segment.vaddr + (header.phoff - segment.offset);
    add_pieces(program, segment, bytes, program.image_end, tails);
    program.image_end = std::max(program.image_end, segment.vaddr + segment.memsz);
  }
  program.high = page_up(program.image_end);
  if (auto error = check_addresses(program)) return *error;
  program.file = std::move(file);
  if (!tails.empty()) program.tails = std::make_shared<memory::Image>(std::span<const u8>(tails));
  return program;
}

bool map_piece(const Program::Piece& piece, u64 bias, const Program& program, memory::GuestMemory& memory) {
  const u64 address = piece.address + bias;
  switch (piece.source) {
    case Program::Piece::Source::kFile:
      return memory.map_image(address, piece.size, piece.protection, program.file, piece.offset);
    case Program::Piece::Source::kTails:
      return memory.map_image(address, piece.size, piece.protection, program.tails, piece.offset);
    case Program::Piece::Source::kZero: return memory.map(address, piece.size, piece.protection);
  }
  return false;
}

}  // namespace

std::optional<Error> check_identity(std::span<const u8> bytes) {
  static constexpr u8 kMagic[4] = {0x7f, 'E', 'L', 'F'};
  if (bytes.size() < sizeof kMagic || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return bad("it is no ELF file");
  if (bytes.size() < sizeof(ElfHeader)) return bad("the file ends inside the ELF header");
  const auto header = read_as<ElfHeader>(bytes, 0);
  const bool big_endian = header.ident[5] == 2;
  const u16 machine = big_endian ? __builtin_bswap16(header.machine) : header.machine;
  if (const std::string name = machine_name(machine); !name.empty())
    return Error{"this is " + name + " program; KVRM runs ARM64 (AArch64) programs"};
  if (machine != kMachineAArch64) return bad("it is for ELF machine " + std::to_string(machine) + ", not for ARM64");
  if (header.ident[4] != 2) return bad("it is a 32-bit ELF file, AArch64 needs ELFCLASS64");
  if (header.ident[5] != 1) return bad("it is big-endian");
  if (header.ident[6] != 1 || header.version != 1) return bad("its ELF version is not 1");
  return std::nullopt;
}

Result<Program> parse_elf(std::shared_ptr<const memory::Image> file) try {
  return parse(std::move(file));
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left for the program"};
}

Result<Program> parse_elf(std::span<const u8> bytes) try {
  return parse_elf(std::make_shared<const memory::Image>(bytes));
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left for the program"};
}

Result<LoadedProgram> load_program(const Program& program, memory::GuestMemory& memory) try {
  LoadedProgram loaded;
  if (program.position_independent) {
    const u64 base = (kPieBase + program.alignment - 1) & ~(program.alignment - 1);
    loaded.bias = base - (program.low & ~(program.alignment - 1));
  }
  for (const auto& piece : program.pieces)
    if (!map_piece(piece, loaded.bias, program, memory))
      return Error{"the program does not fit into the guest's memory"};
  loaded.entry = program.entry + loaded.bias;
  loaded.phdr_address = program.phdr_address == 0 ? 0 : program.phdr_address + loaded.bias;
  loaded.phdr_count = program.phdr_count;
  loaded.brk_start = program.high + loaded.bias;
  return loaded;
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left for the program"};
}

}  // namespace kvrm::linux_abi
