// Translated code for lanes on a GPU, as far as no GPU is needed: when lanes are looked at, what is kept on disk, and
// what happens when the driver does not play along.
#include "machine/gpu_regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include "damaged_file.h"

namespace kvrm {
namespace {

namespace fs = std::filesystem;
using device::cuda::GpuPointer;
using device::cuda::LaneSet;
using std::chrono::milliseconds;

TEST(GpuRounds, GrowLonger) {
  const GpuRounds rounds;
  for (u32 i = 1; i < rounds.most; ++i) EXPECT_GT(rounds.slice(i).time, rounds.slice(i - 1).time);
  EXPECT_GE(GpuRounds::patient().slice(0).time, milliseconds(900));
  EXPECT_LE(GpuRounds::eager().slice(0).time, milliseconds(10));
}

// What a GPU would do.
struct Device {
  std::vector<u32> heat;  // of the words of all images, part by part
  std::vector<LaneSet::Region> regions;
  unsigned links = 0, loads = 0;
  bool alone = false, links_fail = false, loads_fail = false;
  milliseconds link_time{0};
  std::shared_future<void> linker;  // works when this is there
};

class Target final : public RegionTarget {
 public:
  explicit Target(Device& device) : device_(device) {}
  translator::LaneKind kind() const override { return {.alone = device_.alone}; }
  Result<std::vector<u32>> heat() override { return device_.heat; }
  Result<bool> usual_float() override { return false; }
  Result<std::vector<std::byte>> link(const std::string& ptx) override {
    ++device_.links;
    std::this_thread::sleep_for(device_.link_time);
    if (device_.linker.valid()) device_.linker.wait();
    if (device_.links_fail) return Error{"the driver is too old"};
    const auto bytes = std::as_bytes(std::span(ptx));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  Result<GpuPointer> load(std::span<const std::byte>) override {
    ++device_.loads;
    if (device_.loads_fail) return Error{"no such image"};
    return std::make_shared<const device::cuda::Gpu>();
  }
  Result<void> take(GpuPointer, std::span<const LaneSet::Region> regions) override {
    device_.regions.assign(regions.begin(), regions.end());
    return {};
  }

 private:
  Device& device_;
};

class RegionsOfAGpu : public testing::Test {
 protected:
  RegionsOfAGpu() {
    std::string name = testing::TempDir() + "kvrm-gpu-regions-XXXXXX";
    folder_ = mkdtemp(name.data());
    std::string problem;
    has_translator_ = translator::GpuTranslator::is_there(problem);
  }
  ~RegionsOfAGpu() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (!has_translator_) GTEST_SKIP() << "this build has no translator";
    device_.heat.assign(interpreter::kNotedParts * kImageWords, 0);
  }

  GpuRegions::Settings settings() {
    GpuRegions::Settings settings;
    settings.folder = cache::Folder(folder_);
    settings.key = "a GPU";
    settings.reason = "places";
    settings.notice = [this](const std::string& line) { notices_.push_back(line); };
    return settings;
  }
  // A program that has loops at words 0 and 8.
  std::vector<translator::SharedCode> codes() const { return {{0x10000, words_, 0}}; }
  Result<void> begin(GpuRegions& regions) { return regions.begin(std::make_unique<Target>(device_), codes()); }
  LaneSet::Slice pause(GpuRegions& regions) {
    auto slice = regions.paused(milliseconds(0));
    EXPECT_TRUE(slice) << slice.error().message;
    return slice ? *slice : LaneSet::Slice{};
  }
  // Runs a program of two loops to its end.
  void run_through(GpuRegions& regions) {
    device_.heat[0] = 100;
    pause(regions);
    device_.heat[8] = 100;
    pause(regions);
    while (regions.next(milliseconds(0)).time.count() != 0) pause(regions);
  }
  static Statistics statistics_of(const GpuRegions& regions) {
    Statistics statistics;
    statistics.launches = 2;
    regions.add_to(statistics);
    return statistics;
  }
  fs::path file() const {
    const fs::directory_iterator all(folder_);
    return all == fs::directory_iterator() ? fs::path() : all->path();
  }

  static constexpr u32 kWords = 16;
  static constexpr u32 kImageWords = 24;  // an image has data too
  static constexpr u32 kNop = 0xd503201f, kHalt = 0xd4400000;
  std::vector<u32> words_{0xb8404423, 0x8b030000, 0xf1000442, 0x54ffffa1, kHalt, kNop, kNop, kNop,
                          0xb8404423, 0x8b030000, 0xf1000442, 0x54ffffa1, kNop,  kNop, kNop, kNop};
  fs::path folder_;
  Device device_;
  std::vector<std::string> notices_;
  bool has_translator_ = false;
};

// For tests of single instructions: nothing is left to the interpreter.
TEST_F(RegionsOfAGpu, WhereLanesBeginIsTranslatedBeforeTheyRun) {
  GpuRegions::Settings eager = settings();
  EXPECT_FALSE(GpuRegions(eager).expects());
  eager.rounds = GpuRounds::eager();
  eager.folder = cache::Folder();
  GpuRegions regions(eager);
  ASSERT_TRUE(regions.expects());
  ASSERT_TRUE(begin(regions));
  const std::vector<u32> first = {8, 8, 9, kImageWords + 7}, again = {9, 8}, more = {8, 1};
  ASSERT_TRUE(regions.expect(first));
  EXPECT_EQ(device_.regions.size(), 1u);  // one loop
  EXPECT_EQ(device_.links, 1u);
  ASSERT_TRUE(regions.expect(again));
  EXPECT_EQ(device_.links, 1u);
  ASSERT_TRUE(regions.expect(more));
  EXPECT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.links, 2u);
}

// The linker works on until it is let go; what it made is there for the next run.
TEST_F(RegionsOfAGpu, WhoCancelsDoesNotWaitForIt) {
  GpuRegions regions(settings());
  ASSERT_TRUE(begin(regions));
  std::promise<void> go;
  device_.linker = go.get_future().share();
  device_.heat[0] = 100;
  const std::atomic<bool> cancelled = true;
  ASSERT_TRUE(regions.paused(milliseconds(0), &cancelled));
  ASSERT_TRUE(regions.paused(milliseconds(0), &cancelled));
  ASSERT_TRUE(regions.settle(&cancelled));
  EXPECT_TRUE(device_.regions.empty());
  go.set_value();
  // Nor does it wait for the driver to load it.
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_TRUE(regions.settle(&cancelled));
  EXPECT_EQ(device_.loads, 0u);
  ASSERT_TRUE(regions.settle());
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

// The same, but other programs are placed before anybody asks.
TEST_F(RegionsOfAGpu, WhatNobodyWaitedForIsKept) {
  std::promise<void> go;
  {
    GpuRegions regions(settings());
    ASSERT_TRUE(begin(regions));
    device_.linker = go.get_future().share();
    device_.heat[0] = 100;
    const std::atomic<bool> cancelled = true;
    ASSERT_TRUE(regions.paused(milliseconds(0), &cancelled));
    go.set_value();
    ASSERT_TRUE(begin(regions));
    EXPECT_EQ(device_.regions.size(), 1u);
  }
  GpuRegions later(settings());
  device_.regions.clear();
  ASSERT_TRUE(begin(later));
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(RegionsOfAGpu, ProgramsRunAtLeastAsLongAsTranslatingTakes) {
  GpuRegions regions(settings());
  ASSERT_TRUE(begin(regions));
  device_.link_time = milliseconds(400);
  device_.heat[0] = 100;
  const auto slice = pause(regions);
  EXPECT_GE(static_cast<double>(slice.time.count()) + 1, 1000 * statistics_of(regions).translation_seconds);
  EXPECT_GE(slice.time, device_.link_time);
  // Another program does not wait for it.
  words_[7] ^= 1;
  ASSERT_TRUE(begin(regions));
  EXPECT_EQ(regions.next(milliseconds(0)).time, GpuRounds().slice(0).time);
}

TEST_F(RegionsOfAGpu, LanesRunOnWhileCompilersWork) {
  auto busy = settings();
  busy.overlaps = true;
  GpuRegions regions(busy);
  ASSERT_TRUE(begin(regions));
  std::promise<void> go;
  device_.linker = go.get_future().share();
  device_.heat[0] = 100;
  for (int i = 0; i < 3; ++i) {
    const LaneSet::Slice slice = pause(regions);
    EXPECT_GT(slice.time.count(), 0) << "to see whether the compiler has ended";
    EXPECT_TRUE(device_.regions.empty());
  }
  ASSERT_TRUE(begin(regions)) << "the next batch does not wait for it either";
  go.set_value();
  while (device_.regions.empty()) {
    std::this_thread::sleep_for(milliseconds(1));
    pause(regions);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(RegionsOfAGpu, CompilersTakeTheirShareOfTheTimeAtMost) {
  auto thrifty = settings();
  thrifty.share = 0.25;
  thrifty.rounds.first = milliseconds(1);
  GpuRegions regions(thrifty);
  ASSERT_TRUE(begin(regions));
  device_.heat[0] = 100;
  LaneSet::Slice slice = pause(regions);
  EXPECT_EQ(device_.links, 0u) << "nothing has run yet";
  EXPECT_GT(slice.time, milliseconds(300)) << "three times what a link is taken to cost";
  while (device_.links == 0) {
    std::this_thread::sleep_for(milliseconds(100));
    slice = pause(regions);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  const double share = 0.25, spent = statistics_of(regions).translation_seconds;
  EXPECT_GE(static_cast<double>(slice.time.count()) / 1000, spent * (1 - share) / share * 0.1) << "before the next";
}

// Two programs by turns, each gone before its compiler is done.
TEST_F(RegionsOfAGpu, ProgramsByTurnsFindWhatWasMadeForThem) {
  auto busy = settings();
  busy.overlaps = true;
  GpuRegions regions(busy);
  std::promise<void> go;
  device_.linker = go.get_future().share();
  ASSERT_TRUE(begin(regions));
  device_.heat[0] = 100;
  pause(regions);
  words_[7] ^= 1;
  ASSERT_TRUE(begin(regions));
  go.set_value();
  words_[7] ^= 1;
  ASSERT_TRUE(begin(regions));
  while (device_.regions.empty()) {
    std::this_thread::sleep_for(milliseconds(1));
    pause(regions);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(RegionsOfAGpu, WhereLanesWereFoundIsKeptWithoutCode) {
  auto thrifty = settings();
  thrifty.share = 1e-6;
  auto first = std::make_unique<GpuRegions>(thrifty);
  ASSERT_TRUE(begin(*first));
  device_.heat[0] = 100;
  pause(*first);
  EXPECT_EQ(device_.links, 0u);
  first.reset();
  GpuRegions again(settings());
  ASSERT_TRUE(begin(again));
  EXPECT_EQ(device_.regions.size(), 1u) << "no look is needed";
}

TEST_F(RegionsOfAGpu, AreMadeWhereLanesAreFound) {
  GpuRegions regions(settings());
  ASSERT_TRUE(begin(regions));
  EXPECT_EQ(regions.next(milliseconds(0)).time, GpuRounds().slice(0).time);
  EXPECT_EQ(regions.next(milliseconds(7)).time, milliseconds(7)) << "no launch may take longer";
  EXPECT_TRUE(device_.regions.empty());
  run_through(regions);
  ASSERT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.regions[0].entry, 0u);
  EXPECT_EQ(device_.regions[0].start, 0x10000u);
  EXPECT_EQ(device_.regions[0].words, kWords);
  EXPECT_EQ(device_.regions[1].entry, 8u);
  EXPECT_EQ(device_.links, 2u) << "a look that finds nothing new costs nothing";
  const Statistics statistics = statistics_of(regions);
  EXPECT_EQ(statistics.regions, 2u);
  EXPECT_EQ(statistics.cached_regions, 0u);
  EXPECT_EQ(statistics.launches_reason, "places");
  EXPECT_TRUE(notices_.empty());
}

TEST_F(RegionsOfAGpu, AreThereAtTheNextStart) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  run_through(*first);
  const auto made = device_.regions;
  const u64 words = statistics_of(*first).region_words;
  device_ = Device();
  device_.heat.assign(interpreter::kNotedParts * kImageWords, 0);
  first.reset();  // what it keeps is on disk now
  GpuRegions again(settings());
  ASSERT_TRUE(begin(again));
  EXPECT_EQ(device_.links, 0u);
  EXPECT_EQ(device_.loads, 1u);
  ASSERT_EQ(device_.regions.size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(device_.regions[i].entry, made[i].entry);
  EXPECT_EQ(again.next(milliseconds(0)).time, milliseconds(0)) << "one launch";
  EXPECT_EQ(statistics_of(again).cached_regions, 2u);
  EXPECT_EQ(statistics_of(again).region_words, words);
}

TEST_F(RegionsOfAGpu, OfAProgramThatEndedSoonAreAddedTo) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  device_.heat[0] = 100;
  pause(*first);
  first.reset();  // what it keeps is on disk now
  GpuRegions again(settings());
  ASSERT_TRUE(begin(again));
  ASSERT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(again.next(milliseconds(0)).time, GpuRounds().slice(1).time) << "where the other left off";
  device_.heat[8] = 100;
  pause(again);
  ASSERT_EQ(device_.regions.size(), 2u) << "the old one and the new one";
}

TEST_F(RegionsOfAGpu, ForWaysOutAreNotForgotten) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  device_.heat[0] = 100;
  device_.heat[13] = 1;
  pause(*first);
  ASSERT_EQ(device_.regions.size(), 1u);
  device_.heat[kImageWords + 8] = 1000;
  pause(*first);
  ASSERT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.regions[1].entry, 8u);
  device_.heat.assign(interpreter::kNotedParts * kImageWords, 0);
  first.reset();  // what it keeps is on disk now
  GpuRegions again(settings());
  ASSERT_TRUE(begin(again));
  device_.heat[5] = 100;
  pause(again);
  ASSERT_EQ(device_.regions.size(), 3u) << "the old ones and the new one";
  std::vector<u32> entries;
  for (const auto& region : device_.regions) entries.push_back(region.entry);
  std::ranges::sort(entries);
  EXPECT_EQ(entries, (std::vector<u32>{0, 5, 8}));
}

TEST_F(RegionsOfAGpu, ThatWereLookedAtOftenEnoughNeedOneLaunch) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  device_.heat[0] = 100;
  for (u32 i = 0; i < GpuRounds().most; ++i) pause(*first);
  first.reset();  // what it keeps is on disk now
  GpuRegions again(settings());
  ASSERT_TRUE(begin(again));
  EXPECT_EQ(again.next(milliseconds(0)).time, milliseconds(0));
}

TEST_F(RegionsOfAGpu, AreKeptForExactlyTheirProgram) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  run_through(*first);
  first.reset();  // what it keeps is on disk now
  const auto finds_nothing = [&](const GpuRegions::Settings& settings) {
    device_.regions.clear();
    GpuRegions other(settings);
    return begin(other).ok() && device_.regions.empty() && statistics_of(other).regions == 0;
  };
  words_[7] ^= 1;
  EXPECT_TRUE(finds_nothing(settings())) << "other code";
  words_[7] ^= 1;
  device_.alone = true;
  EXPECT_TRUE(finds_nothing(settings())) << "for lanes that have their warp for themselves";
  device_.alone = false;
  auto other = settings();
  other.key = "another GPU";
  EXPECT_TRUE(finds_nothing(other));
  other = settings();
  other.folder = {};
  EXPECT_TRUE(finds_nothing(other));
  EXPECT_FALSE(finds_nothing(settings()));
}

TEST_F(RegionsOfAGpu, DamagedFilesAreMadeAgain) {
  const auto keep = [&] {
    GpuRegions regions(settings());
    ASSERT_TRUE(begin(regions));
    run_through(regions);
  };
  const auto kept = [&] {
    GpuRegions regions(settings());
    return begin(regions).ok() ? statistics_of(regions).cached_regions : 0;
  };
  keep();
  ASSERT_EQ(kept(), 2u);
  const auto size = fs::file_size(file());
  for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{20}, std::uintmax_t{40}, size / 2, size - 1}) {
    test::flip_a_bit(file(), at);
    EXPECT_EQ(kept(), 0u) << at;
  }
  fs::resize_file(file(), size / 3);
  EXPECT_EQ(kept(), 0u) << "cut off";
  std::ofstream(file(), std::ios::binary) << "something else";
  EXPECT_EQ(kept(), 0u) << "foreign";
  keep();
  EXPECT_EQ(kept(), 2u) << "replaced";
}

TEST_F(RegionsOfAGpu, AnImageTheDriverRefusesIsMadeAgainBeforeTheLaunch) {
  auto first = std::make_unique<GpuRegions>(settings());
  ASSERT_TRUE(begin(*first));
  run_through(*first);
  first.reset();  // what it keeps is on disk now
  device_ = Device();
  device_.heat.assign(interpreter::kNotedParts * kImageWords, 0);
  device_.loads_fail = true;
  GpuRegions refused(settings());
  ASSERT_TRUE(begin(refused));
  EXPECT_EQ(device_.links, 1u);
  EXPECT_TRUE(refused.has_failed()) << "the new one was refused as well";
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(RegionsOfAGpu, WithoutALinkerTheInterpreterGoesOn) {
  device_.links_fail = true;
  GpuRegions regions(settings());
  ASSERT_TRUE(begin(regions));
  device_.heat[0] = 100;
  EXPECT_EQ(pause(regions).time, milliseconds(0));
  EXPECT_EQ(device_.links, 1u);
  EXPECT_TRUE(regions.has_failed());
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("the driver is too old"), std::string::npos);
  EXPECT_EQ(statistics_of(regions).regions, 0u);
  EXPECT_TRUE(file().empty());
}

TEST_F(RegionsOfAGpu, TheBudgetEndsIt) {
  auto none = settings();
  none.budget_seconds = 0;
  GpuRegions regions(none);
  ASSERT_TRUE(begin(regions));
  EXPECT_EQ(regions.next(milliseconds(0)).time, milliseconds(0));
  device_.heat[0] = 100;
  pause(regions);
  EXPECT_EQ(device_.links, 0u);

  auto little = settings();
  little.budget_seconds = 1e-9;
  GpuRegions once(little);
  ASSERT_TRUE(begin(once));
  pause(once);
  EXPECT_EQ(device_.links, 1u);
  device_.heat[8] = 100;
  pause(once);
  EXPECT_EQ(device_.links, 1u) << "it is spent";
}

TEST_F(RegionsOfAGpu, APlaceMustBeHot) {
  const auto look = [&](u32 fewest, u32 found) {
    auto some = settings();
    some.rounds.fewest = fewest;
    GpuRegions regions(some);
    ASSERT_TRUE(begin(regions));
    device_.heat[0] = found;
    pause(regions);
  };
  look(101, 100);
  EXPECT_EQ(device_.links, 0u);
  look(1, 1);
  EXPECT_EQ(device_.regions.size(), 1u);
}

TEST_F(RegionsOfAGpu, TheNextBatchOfAProgramHasThem) {
  GpuRegions regions(settings());
  ASSERT_TRUE(begin(regions));
  run_through(regions);
  const unsigned loads = device_.loads;
  device_.regions.clear();
  ASSERT_TRUE(begin(regions));
  EXPECT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.loads, loads);
  words_[15] ^= 1;
  device_.regions.clear();
  ASSERT_TRUE(begin(regions));
  EXPECT_TRUE(device_.regions.empty()) << "another program";
}

}  // namespace
}  // namespace kvrm
