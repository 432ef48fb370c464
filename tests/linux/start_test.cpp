// The first stack, word by word.
#include "linux/start.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "linux/freestanding/layout.h"
#include "memory/address_space.h"

namespace kvrm::linux_abi {
namespace {

using memory::AddressSpace;

struct Stack {
  AddressSpace memory{64 << 20};
  u64 sp = 0;
  u64 word(u64 address) {
    u64 value = 0;
    EXPECT_TRUE(memory.read(address, &value, 8));
    return value;
  }
  std::string text(u64 address) {
    std::string value;
    for (char c; memory.read(address, &c, 1) && c != 0; ++address) value += c;
    return value;
  }
};

TEST(Start, StackHoldsWhatLinuxPutsThere) {
  StackContents contents;
  contents.args = {"prog", "one", ""};
  contents.env = {"A=1", "LONG=value"};
  contents.exec_name = "./prog";
  for (u8 i = 0; i < 16; ++i) contents.random[i] = u8(i + 1);
  const LoadedProgram program{0, 0x400100, 0x400040, 5, 0x500000};
  Stack s;
  auto sp = build_stack(contents, program, false, s.memory);
  ASSERT_TRUE(sp.ok());
  s.sp = *sp;
  EXPECT_EQ(s.sp % 16, 0u);
  EXPECT_EQ(s.word(s.sp), 3u);
  EXPECT_EQ(s.text(s.word(s.sp + 8)), "prog");
  EXPECT_EQ(s.text(s.word(s.sp + 16)), "one");
  EXPECT_EQ(s.text(s.word(s.sp + 24)), "");
  EXPECT_EQ(s.word(s.sp + 32), 0u);
  EXPECT_EQ(s.text(s.word(s.sp + 40)), "A=1");
  EXPECT_EQ(s.text(s.word(s.sp + 48)), "LONG=value");
  EXPECT_EQ(s.word(s.sp + 56), 0u);
  // The strings are contiguous: arguments, environment, name, eight zero bytes at the very top.
  EXPECT_EQ(s.word(s.sp + 16), s.word(s.sp + 8) + 5);
  EXPECT_EQ(s.word(s.sp + 40), s.word(s.sp + 24) + 1);
  EXPECT_EQ(s.word(kStackTop - 8), 0u);

  std::map<u64, u64> auxv;
  u64 at = s.sp + 64;
  for (; s.word(at) != 0; at += 16) auxv[s.word(at)] = s.word(at + 8);
  EXPECT_EQ(auxv.size(), 19u);
  EXPECT_EQ(auxv.at(3), 0x400040u);
  EXPECT_EQ(auxv.at(4), 56u);
  EXPECT_EQ(auxv.at(5), 5u);
  EXPECT_EQ(auxv.at(6), 4096u);
  EXPECT_EQ(auxv.at(7), 0u);
  EXPECT_EQ(auxv.at(8), 0u);
  EXPECT_EQ(auxv.at(9), 0x400100u);
  EXPECT_EQ(auxv.at(16), 0x119ffbu);
  EXPECT_EQ(auxv.at(17), 100u);
  EXPECT_EQ(auxv.at(23), 0u);
  EXPECT_EQ(auxv.at(26), 0u);
  EXPECT_EQ(auxv.at(51), 4720u);
  EXPECT_EQ(auxv.count(33), 0u);  // no vDSO
  EXPECT_EQ(s.text(auxv.at(31)), "./prog");
  EXPECT_EQ(s.text(auxv.at(15)), "aarch64");
  u8 random[16];
  ASSERT_TRUE(s.memory.read(auxv.at(25), random, 16));
  EXPECT_EQ(0, std::memcmp(random, contents.random, 16));
  // The trampoline: mov x8, #139; svc #0.
  EXPECT_EQ(s.word(kTrampoline), 0xd4000001'd2801168u);
}

TEST(Start, StackPointerIsAlignedForEveryCount) {
  for (std::size_t args = 0; args < 5; ++args)
    for (std::size_t env = 0; env < 5; ++env) {
      StackContents contents;
      contents.args.assign(args, "abc");
      contents.env.assign(env, "K=V");
      Stack s;
      auto sp = build_stack(contents, {}, false, s.memory);
      ASSERT_TRUE(sp.ok());
      EXPECT_EQ(*sp % 16, 0u);
      EXPECT_EQ(s.word(*sp), std::max<std::size_t>(args, 1));
    }
}

TEST(Start, TooLargeIsAnError) {
  Stack s;
  StackContents contents;
  contents.args = {std::string(200'000, 'x')};
  EXPECT_FALSE(build_stack(contents, {}, false, s.memory).ok());
  contents.args.assign(30, std::string(100'000, 'x'));
  EXPECT_FALSE(build_stack(contents, {}, false, s.memory).ok());
  contents.args.assign(20, std::string(100'000, 'x'));
  EXPECT_TRUE(build_stack(contents, {}, false, s.memory).ok());
  contents.args = {std::string("a\0b", 3)};
  EXPECT_FALSE(build_stack(contents, {}, false, s.memory).ok());
}

}  // namespace
}  // namespace kvrm::linux_abi
