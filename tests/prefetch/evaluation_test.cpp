// Programs whose accesses reach the models through the interpreter.
#include <gtest/gtest.h>

#include <array>

#include "kvrm/prefetch.h"

namespace kvrm {
namespace {

TEST(Evaluation, RefusesWeightsOfAnotherModel) {
  const auto weights = make_weights(std::vector<float>(135));
  ASSERT_TRUE(weights);
  Program program;
  program.path = "/proc/self/exe";
  EXPECT_FALSE(evaluate_prefetch(program, {}, std::array{weights.value()}));
  EXPECT_FALSE(choose_prefetches(program, {}, *weights.value()));
}

}  // namespace
}  // namespace kvrm
