// Which programs use code from the user's cache folder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kvrm/machine.h"
#include "programs.h"

namespace kvrm {
namespace {

namespace fs = std::filesystem;
using test::ProgramFolder;

class CacheOfAMachine : public testing::Test {
 protected:
  CacheOfAMachine() {
    const char* old = std::getenv("XDG_CACHE_HOME");
    if (old) before_ = old;
    fs::create_directories(home() / "other");
    setenv("XDG_CACHE_HOME", (home() / "cache").c_str(), 1);
  }
  ~CacheOfAMachine() override { before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME"); }
  fs::path home() const { return fs::path(path_).parent_path(); }

  // How many regions came from the cache.
  std::uint64_t run(const std::string& root) {
    notices_.clear();
    Options options;
    options.device = Device::kCpu;
    options.engine = Engine::kJit;
    options.jit_threshold = 1;
    options.notice = [this](const std::string& line) { notices_.push_back(line); };
    auto machine = Machine::create(options);
    if (!machine) return ~std::uint64_t{0};
    Program program;
    program.path = path_;
    program.root = root;
    program.verbose = true;
    EXPECT_TRUE(machine->load_program(program));
    (void)machine->run(20'000'000);
    regions_ = machine->statistics().regions;
    return machine->statistics().cached_regions;
  }

  ProgramFolder folder_;
  const std::string path_ = folder_.add("forever", test::kForever);
  std::optional<std::string> before_;
  std::vector<std::string> notices_;
  std::uint64_t regions_ = 0;
};

TEST_F(CacheOfAMachine, IsOffForAProgramThatCouldWriteToIt) {
  Options options;
  options.device = Device::kCpu;
  options.engine = Engine::kJit;
  if (!Machine::create(options)) GTEST_SKIP() << "no translator in this build";
  const fs::path cache = home() / "cache" / "kvrm";

  EXPECT_EQ(run(home()), 0u);
  EXPECT_GT(regions_, 0u);
  EXPECT_FALSE(fs::exists(cache)) << "nothing is written";
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("the code cache is off: "), std::string::npos);

  EXPECT_EQ(run(home() / "other"), 0u);
  EXPECT_TRUE(fs::exists(cache));
  EXPECT_TRUE(notices_.empty());
  EXPECT_GT(run(home() / "other"), 0u);
  EXPECT_GT(run(""), 0u);
  EXPECT_EQ(run(home()), 0u) << "nothing is read";
  EXPECT_GT(regions_, 0u);
  fs::create_directories(cache / "root");
  EXPECT_EQ(run(cache / "root"), 0u);

  fs::permissions(cache, fs::perms::all);
  EXPECT_EQ(run(""), 0u) << "anybody could write there";
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("can be written by others"), std::string::npos);
}

}  // namespace
}  // namespace kvrm
