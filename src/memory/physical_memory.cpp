#include "memory/physical_memory.h"

#include <cstring>

#include "memory/freestanding/shared_bytes.h"

namespace kvrm::memory {
namespace {

// Where the host cannot exchange 16 bytes at once.
u32* shared_locks() {
  static u32 locks[kSharedLocks];
  return sync::kHasExchange16 ? nullptr : locks;
}

}  // namespace

bool PhysicalMemory::takes_locks() { return shared_locks() != nullptr; }

bool PhysicalMemory::use_window() {
  if (!window_) window_ = Window::reserve();
  frames_.use_window(window_.get());
  return window_ != nullptr;
}

void PhysicalMemory::decode(const u8* frame, const Translation& translation, u64 address, bool is_aliased) {
  if (!code_.insert(frame).second) return;
  listeners_.each([&](Listener& listener) { listener.code_decoded(frame, translation, address, is_aliased); });
}

bool PhysicalMemory::forget_code(const u8* frame) {
  if (is_shared_ || code_.erase(frame) == 0) return false;
  listeners_.each([&](Listener& listener) { listener.code_written(frame); });
  return true;
}

void PhysicalMemory::read(const u8* from, void* to, u64 count) const {
  if (!is_shared_) {
    std::memcpy(to, from, count);
  } else {
    SharedBytes(shared_locks()).load(from, to, count);
  }
}

void PhysicalMemory::write(u8* to, const void* from, u64 count) const {
  if (!is_shared_) {
    std::memcpy(to, from, count);
  } else {
    SharedBytes(shared_locks()).store(to, from, count);
  }
}

void PhysicalMemory::compare_exchange(u8* at, const void* expected, const void* desired, void* observed,
                                      u32 size) const {
  SharedBytes(shared_locks()).compare_exchange(at, expected, desired, observed, size);
}

}  // namespace kvrm::memory
