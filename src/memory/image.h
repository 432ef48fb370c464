// Bytes shared by any number of machines: read-only, or by the guest and its host.
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
  // The same for bytes that fill(where to) writes.
  template <class Fill>
  Image(u64 size, Fill fill) : Image(size, Kind::kRead) {
    fill(data_);
    seal();
  }
  // Zeros that are written in place: nothing is copied, and every guest that maps them sees the writes.
  explicit Image(u64 size) : Image(size, Kind::kWrittenInPlace) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  u64 size() const { return size_; }  // of the bytes, without padding
  u64 padded_size() const { return (size_ + kPageSize - 1) / kPageSize * kPageSize; }
  bool is_written_in_place() const { return kind_ == Kind::kWrittenInPlace; }
  u8* data() { return data_; }
  std::span<const u8> bytes() const { return {data_, size_}; }
  const u8* page(u64 offset) const { return data_ + offset; }  // offset: a multiple of kPageSize below padded_size()

 private:
  enum class Kind { kRead, kWrittenInPlace };
  Image(u64 size, Kind kind);
  void seal();  // read-only from now on

  u8* data_ = nullptr;
  u64 size_;
  Kind kind_;
};

}  // namespace kvrm::memory
