#include "memory/freestanding/flat.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace kvrm::memory {
namespace {

struct Window {
  std::array<u8, 64> bytes{};
  Flat flat{bytes.data(), 0x1000, bytes.size()};
  Cpu cpu{};
};

TEST(Flat, ReadsAndWritesInsideTheWindow) {
  Window w;
  ASSERT_EQ(w.flat.store<u64>(w.cpu, 0x1038, 0x1122334455667788), Trap::kNone);
  u32 value = 0;
  ASSERT_EQ(w.flat.load(w.cpu, 0x103c, value), Trap::kNone);
  EXPECT_EQ(value, 0x11223344u);
}

TEST(Flat, IgnoresTheTopByte) {
  Window w;
  ASSERT_EQ(w.flat.store<u8>(w.cpu, 0xab00000000001000, 7), Trap::kNone);
  EXPECT_EQ(w.bytes[0], 7);
}

TEST(Flat, AnAccessOverTheEndChangesNothingAndNamesTheFirstByteOutside) {
  Window w;
  ASSERT_EQ(w.flat.store<u64>(w.cpu, 0x103c, ~u64{0}), Trap::kUnmapped);
  EXPECT_EQ(w.cpu.fault_address, 0x1040u);
  EXPECT_EQ(w.cpu.fault_access, static_cast<u32>(Access::kWrite));
  for (u8 byte : w.bytes) EXPECT_EQ(byte, 0);
}

TEST(Flat, NoAddressReachesOutside) {
  Window w;
  for (u64 address : {u64{0}, u64{0xfff}, u64{0x1040}, ~u64{0}, u64{1} << 55, u64{0x00ffffffffffffff}}) {
    u64 value = 0;
    EXPECT_NE(w.flat.load(w.cpu, address, value), Trap::kNone) << std::hex << address;
  }
}

TEST(Flat, CompareExchange) {
  Window w;
  u32 seen = 1;
  ASSERT_EQ(w.flat.compare_exchange<u32>(w.cpu, 0x1000, 5, 6, seen), Trap::kNone);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(w.bytes[0], 0);
  ASSERT_EQ(w.flat.compare_exchange<u32>(w.cpu, 0x1000, 0, 6, seen), Trap::kNone);
  EXPECT_EQ(w.bytes[0], 6);
}

}  // namespace
}  // namespace kvrm::memory
