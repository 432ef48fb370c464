#include "memory/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace kvrm::memory {

Image::Image(std::span<const u8> bytes)
    : Image(bytes.size(), [&](u8* to) {
        if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
      }) {}

Image::~Image() { ::munmap(data_, std::max(padded_size(), kPageSize)); }

// Pages of zeros. They take room on the host when they are touched, or at once where all of them will be: that is much
// faster than one by one.
Image::Image(u64 size, Kind kind) : size_(size), kind_(kind) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (kind == Kind::kRead ? MAP_POPULATE : 0);
  void* const pages = ::mmap(nullptr, std::max(padded_size(), kPageSize), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<u8*>(pages);
}

}  // namespace kvrm::memory
