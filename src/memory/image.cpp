#include "memory/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace kvrm::memory {

Image::Image(std::span<const u8> bytes) : size_(bytes.size()) {
  allocate();
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
}

Image::Image(u64 size) : size_(size), in_place_(true) { allocate(); }

Image::~Image() { ::munmap(data_, std::max(padded_size(), kPageSize)); }

// Pages of zeros that take room on the host when they are touched.
void Image::allocate() {
  void* const pages =
      ::mmap(nullptr, std::max(padded_size(), kPageSize), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<u8*>(pages);
}

}  // namespace kvrm::memory
