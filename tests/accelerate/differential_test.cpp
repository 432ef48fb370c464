// Generated loops with and without bulk steps: no difference in anything.
#include <gtest/gtest.h>

#include <map>

#include "generated_loop.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

void compare_loops(u64 first, u64 count, const std::shared_ptr<translator::Translator>& translator) {
  std::map<std::string, u64> kinds;
  u64 used = 0;
  for (u64 seed = first; seed < first + count; ++seed) {
    std::string listing;
    const Compared compared = compare_loop(seed, translator, &listing);
    ASSERT_EQ(compared.difference, "") << "seed " << seed << ": " << listing;
    ++kinds[compared.kind];
    used += compared.iterations != 0;
  }
  EXPECT_GT(used, count / 4);
  for (const char* kind : {"counted", "fill", "copy", "scan", "reduction", "map"}) EXPECT_GT(kinds[kind], 0u) << kind;
}

TEST(BulkSteps, ChangeNothingInGeneratedLoops) { compare_loops(0, 400, nullptr); }

TEST(BulkSteps, ChangeNothingBesideTheTranslator) {
  std::string error;
  translator::Settings settings;
  settings.threshold = 1;
  settings.in_background = false;
  const auto translator = translator::Translator::create(settings, error);
  if (!translator) GTEST_SKIP() << error;
  compare_loops(1000, 150, translator);
}

}  // namespace
}  // namespace kvrm::accelerate
