// Sums of statistics leave nothing out.

#include <gtest/gtest.h>

#include "kvrm/fleet.h"
#include "programs.h"

namespace kvrm {
namespace {

using namespace test;

// Every number is another one, times `scale`.
Statistics numbered(std::uint64_t scale) {
  Statistics made;
  auto& [instructions, shared_instructions, warp_instructions, seconds, system_calls, in_kernel_calls, mailbox_calls,
         launches, launches_reason, jobs, decoded_words, code_invalidations, regions, cached_regions, region_words,
         translation_seconds, link_seconds, tiers, private_bytes, windows_given_up, loops, floats, dispatch, device,
         engine] = made;
  std::uint64_t next = 0;
  for (std::uint64_t* number : {&instructions, &shared_instructions, &warp_instructions, &system_calls,
                                &in_kernel_calls, &mailbox_calls, &launches, &jobs, &decoded_words, &code_invalidations,
                                &regions, &cached_regions, &region_words, &private_bytes}) {
    *number = ++next * scale;
  }
  for (double* number : {&seconds, &translation_seconds, &link_seconds}) *number = static_cast<double>(++next * scale);
  tiers = {{.name = "interp", .instructions = ++next * scale, .seconds = static_cast<double>(++next * scale)},
           {"regions", ++next * scale, static_cast<double>(++next * scale), ++next * scale, ++next * scale,
            ++next * scale, static_cast<double>(++next * scale)}};
  windows_given_up = {{"one", ++next * scale}, {"two", ++next * scale}};
  const auto number = [&] { return ++next * scale; };
  const auto time = [&] { return static_cast<double>(++next * scale); };
  loops = {number(), number(), number(), number(), number(), {{"a call", number()}}, number(), number(),
           number(), number(), time(),   time(),   {}};
  floats = {++next * scale, ++next * scale};
  for (auto& routed : dispatch.routed) routed = ++next * scale;
  for (auto& row : dispatch.confusion) row.fill(++next * scale);
  launches_reason = "why";
  device = "device";
  engine = "engine";
  return made;
}

void expect_equal(const Statistics& a, const Statistics& b) {
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.shared_instructions, b.shared_instructions);
  EXPECT_EQ(a.warp_instructions, b.warp_instructions);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.system_calls, b.system_calls);
  EXPECT_EQ(a.in_kernel_calls, b.in_kernel_calls);
  EXPECT_EQ(a.mailbox_calls, b.mailbox_calls);
  EXPECT_EQ(a.launches, b.launches);
  EXPECT_EQ(a.launches_reason, b.launches_reason);
  EXPECT_EQ(a.jobs, b.jobs);
  EXPECT_EQ(a.decoded_words, b.decoded_words);
  EXPECT_EQ(a.code_invalidations, b.code_invalidations);
  EXPECT_EQ(a.regions, b.regions);
  EXPECT_EQ(a.cached_regions, b.cached_regions);
  EXPECT_EQ(a.region_words, b.region_words);
  EXPECT_EQ(a.translation_seconds, b.translation_seconds);
  EXPECT_EQ(a.link_seconds, b.link_seconds);
  EXPECT_EQ(a.tiers, b.tiers);
  EXPECT_EQ(a.private_bytes, b.private_bytes);
  EXPECT_EQ(a.windows_given_up, b.windows_given_up);
  EXPECT_EQ(a.loops, b.loops);
  ASSERT_EQ(a.floats.has_value(), b.floats.has_value());
  if (a.floats) EXPECT_EQ(a.floats->fast, b.floats->fast);
  if (a.floats) EXPECT_EQ(a.floats->slow, b.floats->slow);
  EXPECT_EQ(a.dispatch.routed, b.dispatch.routed);
  EXPECT_EQ(a.dispatch.confusion, b.dispatch.confusion);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.engine, b.engine);
}

TEST(Statistics, SumIncludesEveryMember) {
  Statistics sum = numbered(1);
  sum += numbered(100);
  expect_equal(sum, numbered(101));
  Statistics first;
  first.device = "device";
  first.engine = "engine";
  first += numbered(3);
  expect_equal(first, numbered(3));
}

// Two machines, one job each: the first result is held back until the other machine has begun.
TEST(Fleet, StatisticsAreOfAllMachines) {
  const ProgramFolder folder;
  Program program;
  program.path = folder.add("digest", kDigest);
  std::vector<Job> jobs(2);
  for (Job& job : jobs) job.input = std::make_shared<const std::string>("some bytes");
  Options options;
  options.device = Device::kCpu;
  options.engine = Engine::kJit;
  options.jit_threshold = 0;
  auto alone = Machine::create(options);
  if (!alone) GTEST_SKIP() << alone.error().message;
  ASSERT_TRUE(alone->run_jobs(program, std::span(jobs).first(1), [](JobResult&&) {}).ok());
  const Statistics one = alone->statistics();
  ASSERT_GT(one.regions, 0u);
  auto fleet = Fleet::create(options, {0, 0});
  ASSERT_TRUE(fleet.ok());
  const auto both_have_begun = [&] {
    while (fleet->poll().lanes_alive < 2) std::this_thread::yield();
  };
  unsigned results = 0;
  ASSERT_TRUE(fleet
                  ->run_jobs(program, jobs,
                             [&](JobResult&&) {
                               if (results++ == 0) both_have_begun();
                             })
                  .ok());
  const Statistics both = fleet->statistics();
  EXPECT_EQ(both.jobs, 2u);
  EXPECT_EQ(both.instructions, 2 * one.instructions);
  EXPECT_EQ(both.regions, 2 * one.regions);
  EXPECT_EQ(both.region_words, 2 * one.region_words);
  EXPECT_GT(both.translation_seconds, 0);
}

}  // namespace
}  // namespace kvrm
