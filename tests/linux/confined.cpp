// With KVRM_CONFINE=1 the kernel confines the tests as it confines the program: guests must not notice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "landlock.h"
#include "seccomp.h"

namespace kvrm::cli {
namespace {

class Confined : public ::testing::Environment {
 public:
  void SetUp() override {
    if (!std::getenv("KVRM_CONFINE")) return;
    if (auto version = landlock_version(); !version) GTEST_SKIP() << "no Landlock: " << version.error().message;
    if (auto available = seccomp_available(); !available) GTEST_SKIP() << "no seccomp: " << available.error().message;
    ReachableFiles files;
    files.readable = {"/"};  // some tests have it as their root
    files.devices = {"/dev/null", "/dev/zero", "/dev/full"};
    files.roots = {std::filesystem::temp_directory_path()};
    const auto restricted = restrict_files(files);
    ASSERT_TRUE(restricted) << restricted.error().message;
    const auto refused = refuse_system_calls(Peers::kNone);
    ASSERT_TRUE(refused) << refused.error().message;
  }
};

[[maybe_unused]] const auto* const kConfined = ::testing::AddGlobalTestEnvironment(new Confined);

}  // namespace
}  // namespace kvrm::cli
