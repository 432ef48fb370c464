#include "memory/image.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace kvrm::memory {

Image::Image(std::span<const u8> bytes) : size_(bytes.size()) {
  const std::size_t padded = static_cast<std::size_t>(padded_size());
  data_ = static_cast<u8*>(std::aligned_alloc(kPageSize, padded ? padded : kPageSize));
  if (!data_) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  std::memset(data_ + size_, 0, padded - static_cast<std::size_t>(size_));
}

Image::~Image() { std::free(data_); }

}  // namespace kvrm::memory
