// The flat policy: one window of bytes, every page readable, writable and executable.
#pragma once

#include "memory/freestanding/policy.h"

namespace kvrm::memory {

struct Flat {
  u8* bytes;
  u64 start;  // guest address of bytes[0]
  u64 size;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    const u64 offset = (address & kUntagged) - start;
    if (KVRM_UNLIKELY(!inside<T>(offset))) return outside(cpu, address, Access::kRead);
    __builtin_memcpy(&value, bytes + offset, sizeof(T));
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    const u64 offset = (address & kUntagged) - start;
    if (KVRM_UNLIKELY(!inside<T>(offset))) return outside(cpu, address, Access::kWrite);
    __builtin_memcpy(bytes + offset, &value, sizeof(T));
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    const u64 offset = (address & kUntagged) - start;
    if (KVRM_UNLIKELY(!inside<T>(offset))) return outside(cpu, address, Access::kWrite);
    __builtin_memcpy(&observed, bytes + offset, sizeof(T));
    if (observed == expected) __builtin_memcpy(bytes + offset, &desired, sizeof(T));
    return Trap::kNone;
  }

  KVRM_INLINE void fence() {}

 private:
  template <class T>
  KVRM_INLINE bool inside(u64 offset) const {
    return offset < size && size - offset >= sizeof(T);
  }

  // The first byte outside the window is the one that faults.
  KVRM_INLINE Trap outside(Cpu& cpu, u64 address, Access access) const {
    const u64 offset = (address & kUntagged) - start;
    const u64 first = offset < size ? address + (size - offset) : address;
    return memory_trap(cpu, Trap::kUnmapped, first, access);
  }
};

}  // namespace kvrm::memory
