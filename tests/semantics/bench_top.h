// A state and a small window of memory, on which meanings are called directly.
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "memory/freestanding/flat.h"
#include "semantics/meaning.h"

namespace kvrm::test {

struct BenchTop {
  static constexpr u64 kStart = 0x4000;
  static constexpr u64 kSize = 256;

  std::array<u8, kSize> bytes{};
  memory::Flat memory{bytes.data(), kStart, kSize};
  Cpu cpu{};

  template <class Op>
  Trap run(u32 word) {
    return semantics::Meaning<Op>::execute(cpu, memory, Op::decode(word));
  }

  u64 word_at(u64 address) const {
    u64 value = 0;
    std::memcpy(&value, bytes.data() + (address - kStart), sizeof value);
    return value;
  }
  void set_word_at(u64 address, u64 value) { std::memcpy(bytes.data() + (address - kStart), &value, sizeof value); }
};

// Without padding, memcmp is an exact comparison.
static_assert(std::has_unique_object_representations_v<Cpu>);

// The same state but for the fault fields, which a trap may write.
inline bool same_but_for_fault(Cpu a, const Cpu& b) {
  a.fault_address = b.fault_address;
  a.fault_access = b.fault_access;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace kvrm::test
