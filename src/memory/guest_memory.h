// A guest's memory as the system-call layer and the loader use it: copies in, copies out, and changes of the map. No
// host pointer crosses this interface, so the memory may be on a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "memory/freestanding/areas.h"
#include "memory/freestanding/page.h"

namespace kvrm::memory {

// Bytes that machines map: an ELF segment, a file, memory shared with the host. The last page is padded with zeros.
class Image;

class GuestMemory {
 public:
  virtual ~GuestMemory() = default;

  // Copies; false if any byte of the range lacks the permission (then nothing is promised about the
  // bytes before it for read, and nothing is written for write). Addresses ignore the top byte.
  virtual bool read(u64 address, void* to, std::size_t size) const = 0;
  virtual bool write(u64 address, const void* from, std::size_t size) = 0;
  // The number of bytes from address on that can be accessed that way, at most size. For partial transfers.
  virtual std::size_t accessible(u64 address, std::size_t size, Protection how) const = 0;
  // Loader and debugger: write regardless of page protection (mapped pages only).
  virtual bool poke(u64 address, const void* from, std::size_t size) = 0;
  virtual bool peek(u64 address, void* to, std::size_t size) const = 0;

  // The map. Addresses and sizes are multiples of kPageSize (the caller rounds); false: the range leaves
  // the address space or the memory limit is exceeded, and nothing has changed. map() replaces what was there.
  virtual bool map(u64 address, u64 size, u32 protection) = 0;
  virtual bool map_backed(u64 address, u64 size, u32 protection, const Backing& backing) = 0;
  virtual bool map_image(u64 address, u64 size, u32 protection, std::shared_ptr<const Image> image, u64 offset) = 0;
  virtual bool unmap(u64 address, u64 size) = 0;
  virtual bool protect(u64 address, u64 size, u32 protection) = 0;  // false: a hole in the range
  virtual bool move(u64 from, u64 from_size, u64 to,
                    u64 to_size) = 0;  // mremap: moves contents and map; if not, the source is as it was
  virtual bool discard(u64 address, u64 size) = 0;  // MADV_DONTNEED: back to zeros or the image
  virtual bool is_free(u64 address, u64 size) const = 0;  // no page of the range is mapped
  virtual bool is_mapped(u64 address, u64 size) const = 0;  // every page of the range is mapped
  // The highest free range of that size that ends at or below limit and starts at or above floor.
  virtual std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const = 0;

  // Memory of another device has a limit of its own: from now on so many bytes. Returns those that the guest's pages
  // take there; 0: they are on the host's account (memory/account.h).
  virtual u64 set_limit(u64 /*bytes*/) { return 0; }

  // `source` and `image` mean something to the caller with kAreaBacked only.
  using Area = memory::Area;
  virtual std::optional<Area> next_area(u64 address) const = 0;  // the first that ends above the address
  virtual std::vector<Area> areas() const = 0;  // for /proc/self/maps and debugging
};

// Forwards every call to another memory. Self::visit(failed, work) calls work with the target, a GuestMemory or a class
// with the same functions, and returns its result, or `failed` if the target is out of reach. Images cannot be mapped
// through it.
template <class Self>
class ForwardingMemory : public GuestMemory {
 public:
  bool read(u64 address, void* to, std::size_t size) const override {
    return self().visit(false, [&](auto& memory) { return memory.read(address, to, size); });
  }
  bool write(u64 address, const void* from, std::size_t size) override {
    return self().visit(false, [&](auto& memory) { return memory.write(address, from, size); });
  }
  std::size_t accessible(u64 address, std::size_t size, Protection how) const override {
    return self().visit(std::size_t{0}, [&](auto& memory) { return memory.accessible(address, size, how); });
  }
  bool poke(u64 address, const void* from, std::size_t size) override {
    return self().visit(false, [&](auto& memory) { return memory.poke(address, from, size); });
  }
  bool peek(u64 address, void* to, std::size_t size) const override {
    return self().visit(false, [&](auto& memory) { return memory.peek(address, to, size); });
  }
  bool map(u64 address, u64 size, u32 protection) override {
    return self().visit(false, [&](auto& memory) { return memory.map(address, size, protection); });
  }
  bool map_backed(u64 address, u64 size, u32 protection, const Backing& backing) override {
    return self().visit(false, [&](auto& memory) { return memory.map_backed(address, size, protection, backing); });
  }
  bool map_image(u64, u64, u32, std::shared_ptr<const Image>, u64) override { return false; }
  bool unmap(u64 address, u64 size) override {
    return self().visit(false, [&](auto& memory) { return memory.unmap(address, size); });
  }
  bool protect(u64 address, u64 size, u32 protection) override {
    return self().visit(false, [&](auto& memory) { return memory.protect(address, size, protection); });
  }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override {
    return self().visit(false, [&](auto& memory) { return memory.move(from, from_size, to, to_size); });
  }
  bool discard(u64 address, u64 size) override {
    return self().visit(false, [&](auto& memory) { return memory.discard(address, size); });
  }
  bool is_free(u64 address, u64 size) const override {
    return self().visit(false, [&](auto& memory) { return memory.is_free(address, size); });
  }
  bool is_mapped(u64 address, u64 size) const override {
    return self().visit(false, [&](auto& memory) { return memory.is_mapped(address, size); });
  }
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override {
    return self().visit(std::optional<u64>(), [&](auto& memory) { return memory.find_free(size, floor, limit); });
  }
  std::optional<Area> next_area(u64 address) const override {
    return self().visit(std::optional<Area>(), [&](auto& memory) { return memory.next_area(address); });
  }
  std::vector<Area> areas() const override {
    return self().visit(std::vector<Area>(), [&](auto& memory) { return memory.areas(); });
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace kvrm::memory
