// A linked program's bytes by address, with every offset and size of the file checked.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "kvrm/result.h"

namespace kvrm::symbols {

struct Range {
  u64 begin = 0, size = 0;
  bool holds(u64 address) const { return address - begin < size; }
};

class Linked {
 public:
  // An executable or a shared library.
  static Result<Linked> open(std::span<const u8> elf);

  struct Bytes {
    u64 address;
    std::span<const u8> bytes;
  };
  u64 entry() const { return entry_; }
  const std::vector<Bytes>& code() const { return code_; }  // executable sections, or segments; by address, apart
  const std::vector<Bytes>& data() const { return data_; }  // all segments, as far as the file has them
  // The code that an address is in; null: none.
  const Bytes* code_at(u64 address) const;
  bool is_code(u64 address) const { return code_at(address) != nullptr; }
  // The bytes from an address of the data to the end of its segment.
  std::span<const u8> data_at(u64 address) const;
  // The pointer at an address, as it is once relative relocations are applied.
  std::optional<u64> pointer_at(u64 address) const;
  // Where the function begins that chooses an indirect function's implementation, by its slot; none: no such slot.
  std::optional<u64> resolver_of_slot(u64 address) const;
  // The functions that .eh_frame tells of, by address.
  const std::vector<Range>& unwind_ranges() const { return unwind_ranges_; }

 private:
  struct Relocated {
    u64 address, value;
    bool indirect;
  };
  const Relocated* relocation_at(u64 address) const;

  u64 entry_ = 0;
  std::vector<Bytes> code_, data_;
  std::vector<Relocated> relocated_;  // by address
  std::vector<Range> unwind_ranges_;
};

// The ranges of the FDEs in a section .eh_frame. What cannot be understood is left out.
std::vector<Range> read_unwind_ranges(u64 address, std::span<const u8> section);

}  // namespace kvrm::symbols
