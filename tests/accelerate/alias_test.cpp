// One frame at two addresses: a load sees what a store wrote at the other one.
#include <gtest/gtest.h>

#include "generated_loop.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

constexpr u64 kFirst = 0x100000, kSecond = 0x200000, kSize = 0x8000;

class Aliased {
 public:
  Aliased(const Words& words, std::shared_ptr<Loops> loops) : lane_(words, std::move(loops), nullptr) {
    const auto image = std::make_shared<memory::Image>(kSize);
    for (const u64 at : {kFirst, kSecond})
      EXPECT_TRUE(lane_.space().map_image(at, kSize, memory::kRead | memory::kWrite, image, 0));
    for (u64 i = 0; i < kSize; ++i) {
      const u8 value = static_cast<u8>(i * 7 + (i >> 8));
      EXPECT_TRUE(lane_.space().write(kFirst + i, &value, 1));
    }
  }
  void run(u64 from, u64 to, u64 count) {
    lane_.cpu().pc = kCodeAt;
    lane_.cpu().x[0] = from;
    lane_.cpu().x[1] = to;
    lane_.cpu().x[3] = to + 4;
    lane_.cpu().x[11] = count;
    lane_.run(3000 + count * 8);
  }
  std::string bytes() {
    std::string all(kSize, 0);
    EXPECT_TRUE(lane_.space().read(kFirst, all.data(), kSize));
    return all;
  }
  void report() { lane_.report(); }

 private:
  LoopLane lane_;
};

void compare(const Words& loop) {
  Words words = loop;
  words.resize(words.size() + 16, kBrk);
  std::string error;
  const std::shared_ptr<Loops> loops = Loops::create(error);
  Aliased plain(words, nullptr), bulk(words, loops);
  for (const int apart : {0, 1, 2, 3, 4, 5, 8, 16, 100, 1000, 4096, -1, -4, -8, -100}) {
    for (const bool twice : {false, true}) {
      for (Aliased* lane : {&plain, &bulk})
        lane->run(kFirst + 8192, (twice ? kSecond : kFirst) + 8192 + static_cast<u64>(apart), 1500);
      ASSERT_EQ(plain.bytes(), bulk.bytes()) << apart << " " << twice;
    }
  }
  bulk.report();
  const LoopFacts facts = loops->facts().at(0);
  ASSERT_TRUE(facts.proven) << facts.refusal;
  EXPECT_GT(facts.iterations, 10000u);
}

TEST(Aliases, CopiesSeeTheirStores) {
  for (const u32 size : {0u, 2u, 3u}) {
    const int unit = 1 << size;
    compare({ldr_post(size, 2, 0, unit), str_post(size, 2, 1, unit), subs_imm(1, 11, 11, 1), b_cond(kNe, -3)});
  }
}

TEST(Aliases, MapsSeeTheirStores) {
  compare({ldr_post(2, 2, 0, 4), add_imm(0, 2, 2, 3), str_post(2, 2, 1, 4), subs_imm(1, 11, 11, 1), b_cond(kNe, -4)});
}

TEST(Aliases, StoresKeepTheirOrder) {
  compare({ldr_post(2, 2, 0, 4), str_post(2, 2, 1, 4), str_post(2, 11, 3, 4), subs_imm(1, 11, 11, 1), b_cond(kNe, -4)});
}

}  // namespace
}  // namespace kvrm::accelerate
