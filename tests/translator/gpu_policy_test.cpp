// The GPU's region policy with a device that needs no GPU: when lanes are sampled, what is stored on disk, and what
// happens when the driver fails.
#include "translator/gpu/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <numeric>
#include <thread>

#include "../machine/damaged_file.h"
#include "interpreter/freestanding/lane_region.h"

namespace kvrm::translator {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

TEST(GpuRounds, LaunchesGrowLonger) {
  const GpuRounds rounds;
  for (u32 i = 1; i < rounds.most; ++i) EXPECT_GT(rounds.launch(i).time, rounds.launch(i - 1).time);
  EXPECT_GE(GpuRounds::patient().launch(0).time, milliseconds(900));
  EXPECT_LE(GpuRounds::eager().launch(0).time, milliseconds(10));
}

// What a GPU would do.
struct Simulation {
  std::vector<u32> samples;  // of the words of all images, part by part
  std::vector<InstalledRegion> regions;
  unsigned links = 0, loads = 0;
  bool alone = false, links_fail = false, loads_fail = false;
  milliseconds link_time{0};
  std::shared_future<void> linker;  // links when this is ready
};

class SimulatedGpu final : public GpuDevice {
 public:
  explicit SimulatedGpu(Simulation& device) : device_(device) {}
  LaneKind kind() const override { return {.alone = device_.alone}; }
  DeviceError samples(std::vector<u32>& samples) override {
    samples = device_.samples;
    return {};
  }
  DeviceError default_fp_mode(bool& holds) override {
    holds = false;
    return {};
  }
  DeviceError link(const std::string& ptx, std::vector<std::byte>& image) override {
    ++device_.links;
    std::this_thread::sleep_for(device_.link_time);
    if (device_.linker.valid()) device_.linker.wait();
    if (device_.links_fail) return "the driver is too old";
    const auto bytes = std::as_bytes(std::span(ptx));
    image.assign(bytes.begin(), bytes.end());
    return {};
  }
  DeviceError load(std::span<const std::byte>, LoadedKernel& kernel) override {
    ++device_.loads;
    if (device_.loads_fail) return "no such image";
    kernel = std::make_shared<const int>();
    return {};
  }
  DeviceError install(const LoadedKernel&, std::span<const InstalledRegion> regions) override {
    device_.regions.assign(regions.begin(), regions.end());
    return {};
  }

 private:
  Simulation& device_;
};

class GpuPolicyTest : public testing::Test {
 protected:
  GpuPolicyTest() {
    std::string name = testing::TempDir() + "kvrm-gpu-regions-XXXXXX";
    folder_ = mkdtemp(name.data());
    std::string problem;
    has_translator_ = GpuTranslator::is_there(problem);
  }
  ~GpuPolicyTest() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (!has_translator_) GTEST_SKIP() << "this build has no translator";
    device_.samples.assign(interpreter::kSampleKinds * kImageWords, 0);
  }

  GpuPolicy::Settings settings() {
    GpuPolicy::Settings settings;
    settings.folder = cache::Folder(folder_);
    settings.key = "a GPU";
    settings.notice = [this](const std::string& line) { notices_.push_back(line); };
    return settings;
  }
  // A program that has loops at words 0 and 8.
  GpuProgram program() const {
    std::string digest;
    for (const u32 word : words_) digest += std::to_string(word) + " ";
    return {{{0x10000, words_, 0}}, {}, digest};
  }
  // The device never fails, but the driver may refuse code.
  void begin(GpuPolicy& policy) { EXPECT_FALSE(policy.begin(std::make_unique<SimulatedGpu>(device_), program())); }
  GpuLaunch pause(GpuPolicy& policy) {
    EXPECT_FALSE(policy.paused());
    return policy.next(milliseconds(0));
  }
  // Runs a program of two loops to its end.
  void run_through(GpuPolicy& policy) {
    device_.samples[0] = 100;
    pause(policy);
    device_.samples[8] = 100;
    pause(policy);
    while (policy.next(milliseconds(0)).time.count() != 0) pause(policy);
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
  Simulation device_;
  std::vector<std::string> notices_;
  bool has_translator_ = false;
};

// For tests of single instructions: the interpreter runs none of them.
TEST_F(GpuPolicyTest, StartPcsOfRawLanesAreTranslatedBeforeTheyRun) {
  GpuPolicy::Settings eager = settings();
  EXPECT_FALSE(GpuPolicy(eager).expects());
  eager.rounds = GpuRounds::eager();
  eager.folder = cache::Folder();
  GpuPolicy policy(eager);
  ASSERT_TRUE(policy.expects());
  begin(policy);
  const std::vector<u32> first = {8, 8, 9, kImageWords + 7}, again = {9, 8}, more = {8, 1};
  ASSERT_FALSE(policy.expect(first));
  EXPECT_EQ(device_.regions.size(), 1u);  // one loop
  EXPECT_EQ(device_.links, 1u);
  ASSERT_FALSE(policy.expect(again));
  EXPECT_EQ(device_.links, 1u);
  ASSERT_FALSE(policy.expect(more));
  EXPECT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.links, 2u);
}

// The samples of each round are shown to the proposer of loops, those of an earlier run before the first launch.
TEST_F(GpuPolicyTest, LoopsOfBulkStepsHaveRegionsOfTheirOwn) {
  std::vector<u64> sums;
  const auto find = [&](std::span<const SharedCode> codes, std::span<const u32> samples) {
    EXPECT_EQ(codes.size(), 1u);
    sums.push_back(std::reduce(samples.begin(), samples.end(), u64{0}));
    return sums.back() == 0 ? std::vector<GpuCodeRange>() : std::vector<GpuCodeRange>{{0, 8, 12}};
  };
  for (const bool is_later : {false, true}) {
    GpuPolicy policy(settings());
    policy.find_loops_with(find);
    sums.clear();
    device_.regions.clear();
    begin(policy);
    ASSERT_EQ(sums.size(), is_later ? 2u : 1u);
    EXPECT_EQ(sums.front(), 0u);
    if (is_later) EXPECT_GT(sums.back(), 0u);
    if (!is_later) run_through(policy);
    const auto entered = [](u32 word) { return [=](const InstalledRegion& region) { return region.word == word; }; };
    const auto loop = std::ranges::find_if(device_.regions, entered(8));
    ASSERT_NE(loop, device_.regions.end());
    EXPECT_EQ(loop->from, 8u);
    EXPECT_EQ(loop->until, 12u);
    EXPECT_TRUE(std::ranges::any_of(device_.regions, entered(0)));
  }
}

// The linker works on, and the next run adopts its image.
TEST_F(GpuPolicyTest, CancelDoesNotWaitForTheLinker) {
  GpuPolicy policy(settings());
  begin(policy);
  std::promise<void> go;
  device_.linker = go.get_future().share();
  device_.samples[0] = 100;
  const std::atomic<bool> cancelled = true;
  ASSERT_FALSE(policy.paused(&cancelled));
  ASSERT_FALSE(policy.paused(&cancelled));
  ASSERT_FALSE(policy.settle(&cancelled));
  EXPECT_TRUE(device_.regions.empty());
  go.set_value();
  // It does not wait for the driver to load the image either.
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_FALSE(policy.settle(&cancelled));
  EXPECT_EQ(device_.loads, 0u);
  ASSERT_FALSE(policy.settle());
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

// The same, but the program is loaded again first.
TEST_F(GpuPolicyTest, CodeOfACancelledRunIsStored) {
  std::promise<void> go;
  {
    GpuPolicy policy(settings());
    begin(policy);
    device_.linker = go.get_future().share();
    device_.samples[0] = 100;
    const std::atomic<bool> cancelled = true;
    ASSERT_FALSE(policy.paused(&cancelled));
    go.set_value();
    begin(policy);
    EXPECT_EQ(device_.regions.size(), 1u);
  }
  GpuPolicy later(settings());
  device_.regions.clear();
  begin(later);
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(GpuPolicyTest, LaunchesTakeAtLeastAsLongAsTranslation) {
  GpuPolicy policy(settings());
  begin(policy);
  device_.link_time = milliseconds(400);
  device_.samples[0] = 100;
  const auto launch = pause(policy);
  EXPECT_GE(static_cast<double>(launch.time.count()) + 1, 1000 * policy.counts().seconds);
  EXPECT_GE(launch.time, device_.link_time);
  // Another program does not wait that long.
  words_[7] ^= 1;
  begin(policy);
  EXPECT_EQ(policy.next(milliseconds(0)).time, GpuRounds().launch(0).time);
}

TEST_F(GpuPolicyTest, LanesRunWhileCompilersWork) {
  auto busy = settings();
  busy.overlaps = true;
  GpuPolicy policy(busy);
  begin(policy);
  std::promise<void> go;
  device_.linker = go.get_future().share();
  device_.samples[0] = 100;
  for (int i = 0; i < 3; ++i) {
    const GpuLaunch launch = pause(policy);
    EXPECT_GT(launch.time.count(), 0) << "the policy polls the compiler";
    EXPECT_TRUE(device_.regions.empty());
  }
  begin(policy);  // the next batch does not wait for it either
  go.set_value();
  while (device_.regions.empty()) {
    std::this_thread::sleep_for(milliseconds(1));
    pause(policy);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(GpuPolicyTest, CompilersTakeAtMostTheirShareOfTheTime) {
  auto thrifty = settings();
  thrifty.share = 0.25;
  thrifty.rounds.first = milliseconds(1);
  GpuPolicy policy(thrifty);
  begin(policy);
  device_.samples[0] = 100;
  GpuLaunch launch = pause(policy);
  EXPECT_EQ(device_.links, 0u) << "nothing has run yet";
  EXPECT_GT(launch.time, milliseconds(300)) << "three times the expected cost of a link";
  while (device_.links == 0) {
    std::this_thread::sleep_for(milliseconds(100));
    launch = pause(policy);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  const double share = 0.25, spent = policy.counts().seconds;
  EXPECT_GE(static_cast<double>(launch.time.count()) / 1000, spent * (1 - share) / share * 0.1) << "before the next";
}

// Two programs alternate, each replaced before its compiler has finished.
TEST_F(GpuPolicyTest, AlternatingProgramsAdoptTheirCode) {
  auto busy = settings();
  busy.overlaps = true;
  GpuPolicy policy(busy);
  std::promise<void> go;
  device_.linker = go.get_future().share();
  begin(policy);
  device_.samples[0] = 100;
  pause(policy);
  words_[7] ^= 1;
  begin(policy);
  go.set_value();
  words_[7] ^= 1;
  begin(policy);
  while (device_.regions.empty()) {
    std::this_thread::sleep_for(milliseconds(1));
    pause(policy);
  }
  EXPECT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(device_.links, 1u);
}

TEST_F(GpuPolicyTest, SamplesAreStoredWithoutCode) {
  auto thrifty = settings();
  thrifty.share = 1e-6;
  auto first = std::make_unique<GpuPolicy>(thrifty);
  begin(*first);
  device_.samples[0] = 100;
  pause(*first);
  EXPECT_EQ(device_.links, 0u);
  first.reset();
  GpuPolicy again(settings());
  begin(again);
  EXPECT_EQ(device_.regions.size(), 1u) << "no round is needed";
}

TEST_F(GpuPolicyTest, HotLoopsBecomeRegions) {
  GpuPolicy policy(settings());
  begin(policy);
  EXPECT_EQ(policy.next(milliseconds(0)).time, GpuRounds().launch(0).time);
  EXPECT_EQ(policy.next(milliseconds(7)).time, milliseconds(7)) << "no launch may take longer";
  EXPECT_TRUE(device_.regions.empty());
  run_through(policy);
  ASSERT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.regions[0].word, 0u);
  EXPECT_EQ(device_.regions[0].start, 0x10000u);
  EXPECT_EQ(device_.regions[0].words, kWords);
  EXPECT_EQ(device_.regions[1].word, 8u);
  EXPECT_EQ(device_.links, 2u) << "a round without new regions links nothing";
  EXPECT_EQ(policy.counts().regions, 2u);
  EXPECT_EQ(policy.counts().cached_regions, 0u);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(GpuPolicyTest, StoredRegionsAreInstalledAtTheNextStart) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  run_through(*first);
  const auto made = device_.regions;
  const u64 words = first->counts().words;
  device_ = Simulation();
  device_.samples.assign(interpreter::kSampleKinds * kImageWords, 0);
  first.reset();  // writes the file
  GpuPolicy again(settings());
  begin(again);
  EXPECT_EQ(device_.links, 0u);
  EXPECT_EQ(device_.loads, 1u);
  ASSERT_EQ(device_.regions.size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(device_.regions[i].word, made[i].word);
  EXPECT_EQ(again.next(milliseconds(0)).time, milliseconds(0)) << "one launch";
  EXPECT_EQ(again.counts().cached_regions, 2u);
  EXPECT_EQ(again.counts().words, words);
}

TEST_F(GpuPolicyTest, TheNextRunContinuesWithTheNextRound) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  device_.samples[0] = 100;
  pause(*first);
  first.reset();  // writes the file
  GpuPolicy again(settings());
  begin(again);
  ASSERT_EQ(device_.regions.size(), 1u);
  EXPECT_EQ(again.next(milliseconds(0)).time, GpuRounds().launch(1).time) << "the first run did round 0";
  device_.samples[8] = 100;
  pause(again);
  ASSERT_EQ(device_.regions.size(), 2u) << "the old one and the new one";
}

TEST_F(GpuPolicyTest, RegionsAtSideExitsAreStored) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  device_.samples[0] = 100;
  device_.samples[13] = 1;
  pause(*first);
  ASSERT_EQ(device_.regions.size(), 1u);
  device_.samples[kImageWords + 8] = 1000;
  pause(*first);
  ASSERT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.regions[1].word, 8u);
  device_.samples.assign(interpreter::kSampleKinds * kImageWords, 0);
  first.reset();  // writes the file
  GpuPolicy again(settings());
  begin(again);
  device_.samples[5] = 100;
  pause(again);
  ASSERT_EQ(device_.regions.size(), 3u) << "the old ones and the new one";
  std::vector<u32> entries;
  for (const auto& region : device_.regions) entries.push_back(region.word);
  std::ranges::sort(entries);
  EXPECT_EQ(entries, (std::vector<u32>{0, 5, 8}));
}

TEST_F(GpuPolicyTest, AfterTheLastRoundOneLaunchIsEnough) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  device_.samples[0] = 100;
  for (u32 i = 0; i < GpuRounds().most; ++i) pause(*first);
  first.reset();  // writes the file
  GpuPolicy again(settings());
  begin(again);
  EXPECT_EQ(again.next(milliseconds(0)).time, milliseconds(0));
}

TEST_F(GpuPolicyTest, StoredCodeServesExactlyItsProgram) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  run_through(*first);
  first.reset();  // writes the file
  const auto finds_nothing = [&](const GpuPolicy::Settings& settings) {
    device_.regions.clear();
    GpuPolicy other(settings);
    begin(other);
    return device_.regions.empty() && other.counts().regions == 0;
  };
  words_[7] ^= 1;
  EXPECT_TRUE(finds_nothing(settings())) << "other code";
  words_[7] ^= 1;
  device_.alone = true;
  EXPECT_TRUE(finds_nothing(settings())) << "for lanes with a warp to themselves";
  device_.alone = false;
  auto other = settings();
  other.key = "another GPU";
  EXPECT_TRUE(finds_nothing(other));
  other = settings();
  other.folder = {};
  EXPECT_TRUE(finds_nothing(other));
  EXPECT_FALSE(finds_nothing(settings()));
}

TEST_F(GpuPolicyTest, DamagedFilesAreReplaced) {
  const auto keep = [&] {
    GpuPolicy policy(settings());
    begin(policy);
    run_through(policy);
  };
  const auto kept = [&] {
    GpuPolicy policy(settings());
    begin(policy);
    return policy.counts().cached_regions;
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

TEST_F(GpuPolicyTest, ARefusedImageIsLinkedAgainBeforeTheLaunch) {
  auto first = std::make_unique<GpuPolicy>(settings());
  begin(*first);
  run_through(*first);
  first.reset();  // writes the file
  device_ = Simulation();
  device_.samples.assign(interpreter::kSampleKinds * kImageWords, 0);
  device_.loads_fail = true;
  GpuPolicy refused(settings());
  begin(refused);
  EXPECT_EQ(device_.links, 1u);
  EXPECT_TRUE(refused.has_failed()) << "the new one was refused as well";
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(GpuPolicyTest, WithoutALinkerTheInterpreterRuns) {
  device_.links_fail = true;
  GpuPolicy policy(settings());
  begin(policy);
  device_.samples[0] = 100;
  EXPECT_EQ(pause(policy).time, milliseconds(0));
  EXPECT_EQ(device_.links, 1u);
  EXPECT_TRUE(policy.has_failed());
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("the driver is too old"), std::string::npos);
  EXPECT_EQ(policy.counts().regions, 0u);
  EXPECT_TRUE(file().empty());
}

TEST_F(GpuPolicyTest, TheBudgetEndsTranslation) {
  auto none = settings();
  none.budget_seconds = 0;
  GpuPolicy policy(none);
  begin(policy);
  EXPECT_EQ(policy.next(milliseconds(0)).time, milliseconds(0));
  device_.samples[0] = 100;
  pause(policy);
  EXPECT_EQ(device_.links, 0u);

  auto little = settings();
  little.budget_seconds = 1e-9;
  GpuPolicy once(little);
  begin(once);
  pause(once);
  EXPECT_EQ(device_.links, 1u);
  device_.samples[8] = 100;
  pause(once);
  EXPECT_EQ(device_.links, 1u) << "it is spent";
}

TEST_F(GpuPolicyTest, ColdWordsAreNotTranslated) {
  const auto run = [&](u32 fewest, u32 found) {
    auto some = settings();
    some.rounds.fewest = fewest;
    GpuPolicy policy(some);
    begin(policy);
    device_.samples[0] = found;
    pause(policy);
  };
  run(101, 100);
  EXPECT_EQ(device_.links, 0u);
  run(1, 1);
  EXPECT_EQ(device_.regions.size(), 1u);
}

TEST_F(GpuPolicyTest, TheNextBatchOfAProgramUsesItsRegions) {
  GpuPolicy policy(settings());
  begin(policy);
  run_through(policy);
  const unsigned loads = device_.loads;
  device_.regions.clear();
  begin(policy);
  EXPECT_EQ(device_.regions.size(), 2u);
  EXPECT_EQ(device_.loads, loads);
  words_[15] ^= 1;
  device_.regions.clear();
  begin(policy);
  EXPECT_TRUE(device_.regions.empty()) << "another program";
}

}  // namespace
}  // namespace kvrm::translator
