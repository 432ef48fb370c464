// The translator's memory is bounded, however much code a guest makes up.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "../machine/words.h"
#include "backend/cpu/lane.h"
#include "translator/translator.h"

namespace kvrm::translator {
namespace {

using namespace test;

constexpr u64 kMostBytes = u64{1} << 20;

class BoundOfRegions : public testing::Test {
 protected:
  BoundOfRegions() {
    Settings settings;
    settings.in_background = false;
    settings.most_bytes = kMostBytes;
    std::string error;
    translator_ = Translator::create(settings, error);
  }
  void SetUp() override {
    if (!translator_) GTEST_SKIP() << "no translator on this host";
  }
  static u64 entry_of(u32 number) { return kCode + u64{number} * 64; }

  RegionPointer translate(u32 number) {
    const Words words = {movz(0, number), add_imm(1, 0, 1), hlt(0)};
    CodeView view;
    view.word = [&](u64 address) -> std::optional<u32> {
      const u64 index = (address - entry_of(number)) / 4;
      return index < words.size() ? std::optional(words[index]) : std::nullopt;
    };
    view.follow = [](const Transition&) { return true; };
    return translator_->translate(make_plan(entry_of(number), view, {}), 1);
  }
  bool is_known(u32 number) {
    return translator_->find(entry_of(number), [](const Source&) { return true; }) != nullptr;
  }

  std::shared_ptr<Translator> translator_;
};

TEST_F(BoundOfRegions, TheLeastRecentlyUsedAreFreed) {
  ASSERT_NE(translate(0), nullptr);
  for (u32 number = 1; number < 200; ++number) {
    ASSERT_NE(translate(number), nullptr) << number;
    EXPECT_TRUE(is_known(0)) << "it is asked for all the time";
    EXPECT_LE(translator_->counts().bytes, kMostBytes + (64 << 10));
  }
  EXPECT_EQ(translator_->counts().regions, 200u) << "made in all";
  EXPECT_FALSE(is_known(1));
  EXPECT_TRUE(is_known(199));
  // Lanes are told, so that the code may be translated again.
  std::size_t seen = 0;
  const std::vector<u64> forgotten = translator_->forgotten(seen);
  EXPECT_GT(forgotten.size(), 100u);
  EXPECT_TRUE(std::ranges::find(forgotten, entry_of(1)) != forgotten.end());
  EXPECT_TRUE(std::ranges::find(forgotten, entry_of(0)) == forgotten.end());
  EXPECT_TRUE(translator_->forgotten(seen).empty());
  EXPECT_NE(translate(1), nullptr);
}

TEST_F(BoundOfRegions, RegionsThatLanesHoldAreNotFreed) {
  std::vector<RegionPointer> held;
  const u64 before = translator_->pressure();
  u32 number = 0;
  while (number < 200) {
    RegionPointer region = translate(number++);
    if (!region) break;
    held.push_back(std::move(region));
  }
  EXPECT_LT(number, 200u) << "no more fit";
  EXPECT_NE(translator_->pressure(), before) << "lanes are asked to let go";
  EXPECT_TRUE(is_known(0));
  held.clear();
  EXPECT_NE(translate(number), nullptr);
  EXPECT_FALSE(is_known(1));
}

// A lane whose code changes all the time.
TEST(BoundOfALane, NewCodeStillRunsExactly) {
  Settings settings;
  settings.threshold = 0;
  settings.in_background = false;
  settings.most_bytes = kMostBytes;
  std::string error;
  const auto translator = Translator::create(settings, error);
  if (!translator) GTEST_SKIP() << error;
  const auto space = std::make_shared<memory::AddressSpace>(u64{16} << 20);
  ASSERT_TRUE(space->map(kCode, 150 * memory::kPageSize, memory::kRead | memory::kWrite | memory::kExecute));
  backend::cpu::Lane lane(space, {}, translator);
  const std::atomic<bool> cancel = false;
  for (u32 round = 0; round < 250; ++round) {
    const Words words = {movz(0, round), add_imm(0, 0, 1), hlt(0)};
    const u64 at = kCode + u64{round % 150} * memory::kPageSize;  // a write clears its page
    ASSERT_TRUE(space->poke(at, words.data(), words.size() * 4));
    lane.cpu().pc = at;
    ASSERT_EQ(lane.engine().run(lane.cpu(), 1000, cancel).retired, 2u);
    ASSERT_EQ(lane.cpu().x[0], round + 1);
    ASSERT_LE(translator->counts().bytes, kMostBytes + (64 << 10));
  }
  EXPECT_GT(translator->counts().regions, 200u);
  EXPECT_GT(translator->pressure(), 0u) << "the lane held more than may be kept, and let go";
}

}  // namespace
}  // namespace kvrm::translator
