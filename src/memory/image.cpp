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
// faster than one by one. A shared mapping can be shown in windows as well (memory/window.h), and needs no descriptor
// for that. Memory that the host writes stays private, so that a fork of the host has a copy.
Image::Image(u64 size, Kind kind) : size_(size), kind_(kind) {
  const int flags = MAP_ANONYMOUS | (kind == Kind::kRead ? MAP_SHARED | MAP_POPULATE : MAP_PRIVATE);
  void* const pages = ::mmap(nullptr, std::max(padded_size(), kPageSize), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<u8*>(pages);
}

void Image::seal() { ::mprotect(data_, std::max(padded_size(), kPageSize), PROT_READ); }

}  // namespace kvrm::memory
