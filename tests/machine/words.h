// The few instruction words the tests write by hand, and a raw machine that holds them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kvrm/machine.h"

namespace kvrm::test {

using Words = std::vector<std::uint32_t>;

inline constexpr std::uint32_t kNop = 0xd503201f;
inline constexpr std::uint32_t kRet = 0xd65f03c0;

constexpr std::uint32_t movz(unsigned rd, unsigned imm16) { return 0xd2800000 | imm16 << 5 | rd; }
constexpr std::uint32_t add_imm(unsigned rd, unsigned rn, unsigned imm12) {
  return 0x91000000 | imm12 << 10 | rn << 5 | rd;
}
constexpr std::uint32_t subs_imm(unsigned rd, unsigned rn, unsigned imm12) {
  return 0xf1000000 | imm12 << 10 | rn << 5 | rd;
}
constexpr std::uint32_t b(int words) { return 0x14000000 | (static_cast<std::uint32_t>(words) & 0x3ffffff); }
constexpr std::uint32_t b_ne(int words) { return 0x54000001 | (static_cast<std::uint32_t>(words) & 0x7ffff) << 5; }
constexpr std::uint32_t blr(unsigned rn) { return 0xd63f0000 | rn << 5; }
constexpr std::uint32_t br(unsigned rn) { return 0xd61f0000 | rn << 5; }
constexpr std::uint32_t str_w(unsigned rt, unsigned rn) { return 0xb9000000 | rn << 5 | rt; }
constexpr std::uint32_t ldr_x(unsigned rt, unsigned rn) { return 0xf9400000 | rn << 5 | rt; }
constexpr std::uint32_t svc(unsigned imm16) { return 0xd4000001 | imm16 << 5; }
constexpr std::uint32_t brk(unsigned imm16) { return 0xd4200000 | imm16 << 5; }
constexpr std::uint32_t hlt(unsigned imm16) { return 0xd4400000 | imm16 << 5; }

inline std::span<const std::byte> bytes_of(const Words& words) { return std::as_bytes(std::span(words)); }

inline constexpr std::uint64_t kCode = 0x10000;

// A machine with the words at kCode and pc there.
inline Machine machine_with(const Words& words) {
  auto machine = Machine::create();
  EXPECT_TRUE(machine.ok());
  EXPECT_TRUE(machine->load(bytes_of(words), kCode).ok());
  machine->set_pc(kCode);
  return std::move(*machine);
}

}  // namespace kvrm::test
