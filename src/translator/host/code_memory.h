// Executable memory of the quick tier.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"

namespace kvrm::translator {

// A copy of some code in pages of its own, which are never writable and executable at once.
class CodeMemory {
 public:
  // Null if the host has no memory for it.
  static std::unique_ptr<const CodeMemory> make(std::span<const u8> code);
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  // Code begins at a multiple of this. No two pieces of code share a block.
  static constexpr u64 kBlockBytes = u64{64} << 10;

  const u8* begin() const { return begin_; }
  std::vector<const u8*> blocks() const;
  std::size_t size() const { return size_; }

 private:
  CodeMemory(u8* begin, std::size_t size) : begin_(begin), size_(size) {}
  u8* const begin_;
  const std::size_t size_;
};

}  // namespace kvrm::translator
