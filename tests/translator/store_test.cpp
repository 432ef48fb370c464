// Regions on disk: a damaged, truncated or foreign file counts as missing, and the folder stays small.
#include <gtest/gtest.h>

#include <filesystem>

#include "../machine/damaged_file.h"
#include "translator/host/region_store.h"

namespace kvrm::translator {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  Store() {
    std::string name = testing::TempDir() + "kvrm-store-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Store() override { fs::remove_all(folder_); }

  static StoredRegion region(u64 entry_pc, char fill = 'x') {
    Source source;
    source.entry_pc = entry_pc;
    source.hash = entry_pc * 3;
    source.spans = {{entry_pc, {1, 2, 3}}, {entry_pc + 64, {4}}};
    return {source, 4, std::vector<char>(100, fill)};
  }
  RegionStore store(const std::string& key = "key") const { return {cache::Folder(folder_), key}; }
  static bool holds(RegionStore& store, u64 entry_pc) {
    store.open(7);
    const StoredRegion* found = store.find(entry_pc, [](const Source&) { return true; });
    return found && found->source == region(entry_pc).source && found->object == region(entry_pc).object &&
           found->words == 4;
  }
  void keep(u64 entry_pc) const {
    RegionStore one = store();
    one.open(7);
    one.add(7, region(entry_pc));
    one.save();
  }
  fs::path file() const { return folder_ / store().name_of(7); }

  fs::path folder_;
};

TEST_F(Store, RegionsSurvive) {
  keep(0x1000);
  keep(0x2000);  // beside what the file holds
  RegionStore again = store();
  EXPECT_TRUE(holds(again, 0x1000));
  EXPECT_TRUE(holds(again, 0x2000));
  EXPECT_FALSE(holds(again, 0x3000));
  EXPECT_EQ(again.find(0x1000, [](const Source&) { return false; }), nullptr);
}

TEST_F(Store, ProfilesSurvive) {
  Profile profile;
  profile.add(std::vector<TraceStep>{{0x1000, 0x1004}, {0x1004, 0x1000, isa::Flow::kConditional}}, 500);
  profile.end_run(1, 0);
  store().store_profile(7, profile);
  Profile again = store().read_profile(7);
  EXPECT_EQ(again.past().runs, 1u);
  EXPECT_EQ(again.unpaid(0x1000), 500u);
  again.add(std::vector<TraceStep>{{0x1004, 0x1000, isa::Flow::kConditional}}, 1);
  ASSERT_EQ(again.candidates(8, 0).size(), 1u);
  EXPECT_EQ(store("another processor").read_profile(7).past().runs, 0u);
  const fs::path file = folder_ / store().profile_name_of(7);
  fs::resize_file(file, fs::file_size(file) - 3);
  EXPECT_EQ(store().read_profile(7).unpaid(0x1000), 0u);
}

TEST_F(Store, ProfilesOnDiskAreLimited) {
  std::vector<TraceStep> many;
  for (u64 pc = 0; pc < 400000; pc += 4) many.push_back({pc, pc + 4});
  Profile profile;
  profile.add(many, 1);
  profile.add({{many.back()}}, 1);
  store().store_profile(7, profile);
  EXPECT_LT(fs::file_size(folder_ / store().profile_name_of(7)), 65536u * 32 + 4096);
  EXPECT_EQ(store().read_profile(7).unpaid(many.back().from), 2u) << "what ran most is kept";
}

TEST_F(Store, AnotherKeyIsAnotherStore) {
  keep(0x1000);
  RegionStore other = store("another processor");
  EXPECT_FALSE(holds(other, 0x1000));
  // A foreign file under our name.
  fs::rename(file(), folder_ / other.name_of(7));
  RegionStore foreign = store("another processor");
  EXPECT_FALSE(holds(foreign, 0x1000));
}

TEST_F(Store, DamageIsDetectedAndRepaired) {
  keep(0x1000);
  const auto size = fs::file_size(file());
  for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{9}, std::uintmax_t{20}, size / 2, size - 1}) {
    test::flip_a_bit(file(), at);
    RegionStore again = store();
    EXPECT_FALSE(holds(again, 0x1000)) << at;
    keep(0x1000);
    RegionStore repaired = store();
    EXPECT_TRUE(holds(repaired, 0x1000)) << at;
  }
}

TEST_F(Store, ATruncatedFileIsDetectedAndRepaired) {
  for (const double share : {0.0, 0.1, 0.5, 0.99}) {
    keep(0x1000);
    fs::resize_file(file(), static_cast<std::uintmax_t>(static_cast<double>(fs::file_size(file())) * share));
    RegionStore again = store();
    EXPECT_FALSE(holds(again, 0x1000)) << share;
  }
}

TEST_F(Store, AForeignFileIsNoError) {
  fs::create_directories(file());
  keep(0x1000);
  RegionStore again = store();
  EXPECT_FALSE(holds(again, 0x1000));
}

TEST_F(Store, OldProgramsAreRemoved) {
  for (u64 program = 0; program < 300; ++program) {
    RegionStore one = store();
    one.open(program);
    one.add(program, region(0x1000));
    one.save();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 256);
}

TEST_F(Store, SizesAreLimited) {
  const cache::Folder folder(folder_);
  const std::vector<std::byte> contents(1000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(folder.store("kind-" + std::to_string(i), {}, contents, {"kind-", 100, 4000}));
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
  EXPECT_LE(bytes, 4000u);
  EXPECT_TRUE(folder.find("kind-9", {}));
}

}  // namespace
}  // namespace kvrm::translator
