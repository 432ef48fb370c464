// The memory limit holds for what the host keeps for a guest beside its pages.
#include <gtest/gtest.h>

#include "kvrm/machine.h"
#include "programs.h"

namespace kvrm {
namespace {

using namespace test;

Options limited(std::uint64_t bytes) {
  Options options;
  options.device = Device::kCpu;
  options.engine = Engine::kInterpreter;
  options.memory_limit = bytes;
  return options;
}

TEST(Limits, OutputThatWaitsForItsReaderCounts) {
  const ProgramFolder folder;
  auto machine = Machine::create(limited(1 << 20));
  ASSERT_TRUE(machine.ok());
  Program program;
  program.path = folder.add("chatter", kChatter);
  program.keep_output = true;
  ASSERT_TRUE(machine->load_program(program).ok());
  EXPECT_EQ(machine->run(1'000'000).reason, StopReason::kBudget);
  const Output first = machine->take_output();
  EXPECT_TRUE(first.output_cut);
  EXPECT_GT(first.output.size(), 900u << 10);
  EXPECT_LT(first.output.size(), 1u << 20) << "the pages of the program count too";
  EXPECT_EQ(machine->run(600).reason, StopReason::kBudget);
  const Output second = machine->take_output();
  EXPECT_EQ(second.output.size(), 100u * 4080) << "there is room again";
  EXPECT_FALSE(second.output_cut);
}

TEST(Limits, OutputOfJobsCounts) {
  const ProgramFolder folder;
  auto machine = Machine::create(limited(1 << 20));
  ASSERT_TRUE(machine.ok());
  Program program;
  program.path = folder.add("chatter", kChatter);
  JobLimits limits;
  limits.instructions = 1'000'000;
  std::vector<Job> jobs(2);
  jobs[1].index = 1;
  unsigned seen = 0;
  const auto done = [&](JobResult&& result) {
    ++seen;
    EXPECT_TRUE(result.output_cut);
    EXPECT_GT(result.output.size(), 900u << 10) << "each has an account of its own";
    EXPECT_LT(result.output.size(), 1u << 20);
  };
  ASSERT_TRUE(machine->run_jobs(program, jobs, done, limits).ok());
  EXPECT_EQ(seen, 2u);
}

// A guest runs through many pages of code, round after round. Decoded, they take four times as much as the code.
TEST(Limits, DecodedPagesAreBounded) {
  constexpr unsigned kPages = 600, kPageWords = 1024;
  Words words(kPages * kPageWords, kNop);
  for (unsigned page = 0; page < kPages; ++page) {
    const bool is_last = page + 1 == kPages;
    words[page * kPageWords] = b(is_last ? -static_cast<int>(page * kPageWords) : static_cast<int>(kPageWords));
  }
  const auto decoded = [&](std::uint64_t memory) {
    auto machine = Machine::create(limited(memory));
    EXPECT_TRUE(machine.ok());
    EXPECT_TRUE(machine->load_code(bytes_of(words), kCode).ok());
    machine->set_pc(kCode);
    EXPECT_EQ(machine->run(std::uint64_t{100} * kPages).reason, StopReason::kBudget);
    return machine->statistics().decoded_words;
  };
  EXPECT_EQ(decoded(std::uint64_t{1} << 30), kPages);
  EXPECT_GT(decoded(1 << 20), 2 * kPages) << "they were thrown away now and then";
}

}  // namespace
}  // namespace kvrm
