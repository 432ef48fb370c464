// Read-only bytes shared by any number of machines.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/types.h"
#include "memory/guest_memory.h"

namespace kvrm::memory {

class Image {
 public:
  // Copies the bytes into page-aligned storage; the last page is padded with zeros.
  explicit Image(std::span<const u8> bytes);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  u64 size() const { return size_; }  // of the bytes, without padding
  u64 padded_size() const { return (size_ + kPageSize - 1) / kPageSize * kPageSize; }
  const u8* page(u64 offset) const { return data_ + offset; }  // offset: a multiple of kPageSize below padded_size()

 private:
  u8* data_;
  u64 size_;
};

}  // namespace kvrm::memory
