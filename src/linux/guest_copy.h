// Copies between guest memory and host values. False or -EFAULT: the guest gave a bad pointer.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include "base/types.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

template <class T>
bool copy_in(const memory::GuestMemory& memory, u64 address, T& to) {
  static_assert(std::is_trivially_copyable_v<T>);
  return memory.read(address, &to, sizeof(T));
}

template <class T>
bool copy_out(memory::GuestMemory& memory, u64 address, const T& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  return memory.write(address, &from, sizeof(T));
}

// A zero-terminated string shorter than limit bytes: 0, -EFAULT or -ENAMETOOLONG.
i64 copy_text(const memory::GuestMemory& memory, u64 address, u64 limit, std::string& to);

}  // namespace kvrm::linux_abi
