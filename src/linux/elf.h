// Static and static-PIE AArch64 ELF files: checked once, then mapped into any number of guests.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"
#include "memory/guest_memory.h"
#include "memory/image.h"

namespace kvrm::linux_abi {

// A checked program. Copies share the images, and every guest it is loaded into shares their pages.
struct Program {
  // A run of whole pages: from the file, from the tails, or zeros.
  struct Piece {
    enum class Source { kFile, kTails, kZero };
    Source source;
    u64 address;  // before the bias is added
    u64 size;
    u64 offset;  // in the image; 0 for zeros
    u32 protection;
  };

  bool position_independent = false;
  bool executable_stack = false;
  u64 entry = 0;         // before the bias
  u64 phdr_address = 0;  // before the bias; 0: the headers are not in memory
  u64 phdr_count = 0;
  u64 low = 0, high = 0;  // page bounds of all segments
  u64 image_end = 0;      // the end of the last segment to the byte
  u64 alignment = memory::kPageSize;
  std::vector<Piece> pieces;
  std::shared_ptr<const memory::Image> file;
  // The last file-backed page of each segment with zeros after the segment's bytes, one page each.
  std::shared_ptr<const memory::Image> tails;
};

struct LoadedProgram {
  u64 bias = 0;
  u64 entry = 0;
  u64 phdr_address = 0;
  u64 phdr_count = 0;
  u64 brk_start = 0;  // a multiple of the page size
};

// Whether it is an ELF file of AArch64, 64-bit and little-endian, with a whole header: the error says what it is
// instead.
std::optional<Error> check_identity(std::span<const u8> bytes);

// An error is one line that says what is wrong with the file and, where there is one, what to do.
Result<Program> parse_elf(std::span<const u8> bytes);
Result<Program> parse_elf(std::shared_ptr<const memory::Image> file);

// Maps the program. On an error the guest's memory may hold a part of it.
Result<LoadedProgram> load_program(const Program& program, memory::GuestMemory& memory);

}  // namespace kvrm::linux_abi
