// Lanes, jobs and fleets: whatever runs beside it, a program does what it does alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "kvrm/fleet.h"
#include "kvrm/program_file.h"
#include "programs.h"

namespace kvrm {
namespace {

using namespace test;

std::shared_ptr<const std::string> share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

Options lanes(unsigned count, unsigned threads = 4) {
  Options options;
  options.device = Device::kCpu;
  options.lanes = count;
  options.threads = threads;
  options.memory_limit = 64 << 20;
  return options;
}

Program program_at(const std::string& path) {
  Program program;
  program.path = path;
  return program;
}

// Inputs of different lengths and bytes, some empty, one longer than the program's buffer.
std::vector<Job> distinct_jobs(unsigned count) {
  std::vector<Job> jobs(count);
  for (unsigned i = 0; i < count; ++i) {
    std::string text(i * 7 % 40, '\0');
    if (i == 5) text.assign(1000, '\1');
    for (std::size_t at = 0; at < text.size(); ++at) text[at] = static_cast<char>(at * 31 + i * 17);
    jobs[i] = {i, {}, std::vector<std::string>(i % 4, "argument"), share(std::move(text))};
  }
  return jobs;
}

using Results = std::map<std::uint64_t, JobResult>;

template <class Runner>
Results run_all_jobs(Runner& runner, const Program& program, const std::vector<Job>& jobs, JobLimits limits = {}) {
  Results results;
  const auto ran = runner.run_jobs(
      program, jobs,
      [&](JobResult&& result) {
        const auto index = result.index;
        EXPECT_TRUE(results.emplace(index, std::move(result)).second) << index << " came twice";
      },
      limits);
  EXPECT_TRUE(ran.ok());
  return results;
}

// The job on a machine of its own, with the plain API.
JobResult run_alone(const std::string& path, const Job& job) {
  auto machine = Machine::create(lanes(1));
  Program program = program_at(path);
  program.args = job.args;
  program.input = job.input ? *job.input : "";
  program.keep_output = true;
  EXPECT_TRUE(machine->load_program(program).ok());
  JobResult result;
  result.index = job.index;
  result.stop = machine->run();
  result.stop.instructions = machine->statistics().instructions;
  result.registers = machine->registers();
  Output output = machine->take_output();
  result.output = std::move(output.output);
  result.errors = std::move(output.errors);
  return result;
}

void expect_same(const JobResult& a, const JobResult& b) {
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.stop.reason, b.stop.reason);
  EXPECT_EQ(a.stop.exit_status, b.stop.exit_status);
  EXPECT_EQ(a.stop.signal, b.stop.signal);
  EXPECT_EQ(a.stop.pc, b.stop.pc);
  EXPECT_EQ(a.stop.instructions, b.stop.instructions);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.errors, b.errors);
  EXPECT_TRUE(a.registers == b.registers);
}

TEST(Jobs, EachEqualsARunAlone) {
  const ProgramFolder folder;
  const std::string path = folder.add("digest", kDigest);
  const auto jobs = distinct_jobs(40);
  auto machine = Machine::create(lanes(8));
  const Results results = run_all_jobs(*machine, program_at(path), jobs);
  ASSERT_EQ(results.size(), jobs.size());
  for (const Job& job : jobs) {
    SCOPED_TRACE(job.index);
    const JobResult& result = results.at(job.index);
    expect_same(result, run_alone(path, job));
    EXPECT_EQ(result.output, *job.input);
    EXPECT_EQ(result.errors.size(), 8u);
  }
  EXPECT_EQ(machine->statistics().jobs, jobs.size());
  EXPECT_EQ(machine->poll().jobs_done, jobs.size());
  EXPECT_EQ(machine->poll().lanes_alive, 0u);
  EXPECT_EQ(machine->poll().instructions, machine->statistics().instructions);
}

TEST(Lanes, EachEqualsARunAlone) {
  const ProgramFolder folder;
  const std::string path = folder.add("digest", kDigest);
  const auto jobs = distinct_jobs(12);
  auto machine = Machine::create(lanes(12));
  for (const Job& job : jobs) {
    Program program = program_at(path);
    program.args = job.args;
    program.input = *job.input;
    program.keep_output = true;
    ASSERT_TRUE(machine->lane(static_cast<unsigned>(job.index)).load_program(program).ok());
  }
  const auto stops = machine->run_all();
  ASSERT_EQ(stops.size(), jobs.size());
  for (unsigned lane = 0; lane < jobs.size(); ++lane) {
    SCOPED_TRACE(lane);
    const JobResult alone = run_alone(path, jobs[lane]);
    const Output output = machine->lane(lane).take_output();
    EXPECT_EQ(stops[lane].reason, StopReason::kExit);
    EXPECT_EQ(stops[lane].exit_status, alone.stop.exit_status);
    EXPECT_EQ(output.output, alone.output);
    EXPECT_EQ(output.errors, alone.errors);
    EXPECT_TRUE(machine->lane(lane).registers() == alone.registers);
  }
  EXPECT_THROW((void)machine->lane(12).load_program(program_at(path)), std::out_of_range);
}

TEST(Lanes, BudgetIsExactOnEveryLane) {
  const ProgramFolder folder;
  auto machine = Machine::create(lanes(5));
  ASSERT_TRUE(machine->load_program(program_at(folder.add("forever", kForever))).ok());
  for (const Stop& stop : machine->run_all(100'003)) EXPECT_EQ(stop.reason, StopReason::kBudget);
  EXPECT_EQ(machine->statistics().instructions, 5 * 100'003u);
  EXPECT_EQ(machine->lane(3).run(17).reason, StopReason::kBudget);
  EXPECT_EQ(machine->statistics().instructions, 5 * 100'003u + 17);
}

TEST(Lanes, UnusedLanesCostNothing) {
  auto machine = Machine::create(lanes(4'000'000));
  ASSERT_TRUE(machine.ok());
  const ProgramFolder folder;
  EXPECT_EQ(run_all_jobs(*machine, program_at(folder.add("digest", kDigest)), distinct_jobs(3)).size(), 3u);
}

TEST(Lanes, MoreThanAMachineHasAreRefused) {
  const auto refused = Machine::create(lanes(Machine::kMostLanes + 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("at most 16777216 lanes, not 16777217"), std::string::npos);
}

TEST(Jobs, StreamThroughFewLanes) {
  const ProgramFolder folder;
  auto machine = Machine::create(lanes(2));
  const auto jobs = distinct_jobs(200);
  const Results results = run_all_jobs(*machine, program_at(folder.add("digest", kDigest)), jobs);
  ASSERT_EQ(results.size(), jobs.size());
  for (const Job& job : jobs) EXPECT_EQ(results.at(job.index).output, *job.input);
}

TEST(Jobs, HostileNeighboursChangeNothing) {
  const ProgramFolder folder;
  const std::vector<std::string> hostile = {
      folder.add("calls", kManyCalls), folder.add("deep", kStackOverflow), folder.add("wild", kWildStore),
      folder.add("chatter", kChatter), folder.add("forever", kForever),    folder.add("noise", noise(7)),
  };
  const Program program = program_at(folder.add("digest", kDigest));
  JobLimits limits;
  limits.instructions = 1'500'000;
  limits.max_output = 10'000;
  std::vector<Job> jobs = distinct_jobs(48);
  auto machine = Machine::create(lanes(8));
  const Results quiet = run_all_jobs(*machine, program, jobs, limits);
  for (std::size_t i = 0; i < jobs.size(); i += 4) jobs[i].program = hostile[i / 4 % hostile.size()];
  const Results noisy = run_all_jobs(*machine, program, jobs, limits);
  ASSERT_EQ(noisy.size(), jobs.size());
  for (const Job& job : jobs) {
    SCOPED_TRACE(job.index);
    if (job.program.empty()) expect_same(noisy.at(job.index), quiet.at(job.index));
  }
  EXPECT_EQ(noisy.at(0).stop.reason, StopReason::kExit);
  EXPECT_EQ(noisy.at(4).stop.signal, 11);
  EXPECT_EQ(noisy.at(8).stop.signal, 11);
  EXPECT_EQ(noisy.at(12).stop.reason, StopReason::kBudget);
  EXPECT_EQ(noisy.at(12).stop.instructions, limits.instructions);
  EXPECT_EQ(noisy.at(12).output.size(), limits.max_output);
  EXPECT_TRUE(noisy.at(12).output_cut);
  EXPECT_FALSE(noisy.at(12).errors_cut);
  EXPECT_EQ(noisy.at(16).stop.instructions, limits.instructions);
}

TEST(Jobs, AProgramThatIsNotThereIsThatJobsError) {
  const ProgramFolder folder;
  auto machine = Machine::create(lanes(2));
  auto jobs = distinct_jobs(3);
  jobs[1].program = "/no/such/program";
  const Results results = run_all_jobs(*machine, program_at(folder.add("digest", kDigest)), jobs);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_NE(results.at(1).error.find("/no/such/program"), std::string::npos);
  EXPECT_EQ(results.at(2).error, "");
  EXPECT_FALSE(machine->run_jobs(program_at("/no/such/program"), jobs, [](JobResult&&) {}).ok());
}

TEST(Jobs, CancelEndsThoseThatRunAndLeavesTheRest) {
  const ProgramFolder folder;
  const Program program = program_at(folder.add("forever", kForever));
  auto machine = Machine::create(lanes(3, 3));
  const auto jobs = distinct_jobs(100);
  Results results;
  std::thread canceller([&] {
    while (machine->poll().instructions < 1'000'000) std::this_thread::yield();
    machine->cancel();
  });
  const auto ran = machine->run_jobs(program, jobs, [&](JobResult&& result) { results[result.index] = result; });
  canceller.join();
  EXPECT_TRUE(ran.ok());
  EXPECT_GE(results.size(), 1u);
  EXPECT_LE(results.size(), 3u);
  for (const auto& [index, result] : results) EXPECT_EQ(result.stop.reason, StopReason::kCancelled);
  EXPECT_EQ(machine->statistics().jobs, 0u);
}

TEST(Jobs, OneThatTakesTooLongIsStoppedAndTheOthersGoOn) {
  const ProgramFolder folder;
  const std::string forever = folder.add("forever", kForever);
  const Program program = program_at(folder.add("digest", kDigest));
  auto jobs = distinct_jobs(12);
  // Far more than an ordinary job takes, also under a sanitizer or on a busy host.
  const auto start = std::chrono::steady_clock::now();
  (void)run_alone(program.path, jobs[1]);
  const std::chrono::nanoseconds alone = std::chrono::steady_clock::now() - start;
  JobLimits limits;
  limits.timeout = std::max<std::chrono::nanoseconds>(std::chrono::milliseconds(200), 20 * alone);
  for (std::size_t i = 0; i < jobs.size(); i += 4) jobs[i].program = forever;
  for (const unsigned threads : {1u, 4u}) {
    auto machine = Machine::create(lanes(4, threads));
    const Results results = run_all_jobs(*machine, program, jobs, limits);
    ASSERT_EQ(results.size(), jobs.size());
    for (const Job& job : jobs) {
      SCOPED_TRACE(job.index);
      const JobResult& result = results.at(job.index);
      if (job.program.empty()) {
        expect_same(result, run_alone(program.path, job));
      } else {
        EXPECT_EQ(result.stop.reason, StopReason::kTimeout);
        EXPECT_GT(result.stop.instructions, 0u);
      }
    }
    EXPECT_EQ(machine->statistics().jobs, jobs.size());
  }
}

TEST(Fleet, SeveralMachinesShareTheJobs) {
  const ProgramFolder folder;
  const Program program = program_at(folder.add("digest", kDigest));
  const auto jobs = distinct_jobs(60);
  auto machine = Machine::create(lanes(2));
  auto fleet = Fleet::create(lanes(2), {0, 0, 0});
  ASSERT_TRUE(fleet.ok());
  const Results one = run_all_jobs(*machine, program, jobs);
  const Results many = run_all_jobs(*fleet, program, jobs);
  ASSERT_EQ(many.size(), jobs.size());
  for (const Job& job : jobs) expect_same(one.at(job.index), many.at(job.index));
  EXPECT_EQ(fleet->poll().jobs_done, jobs.size());
  EXPECT_EQ(fleet->statistics().instructions, machine->statistics().instructions);
  EXPECT_FALSE(Fleet::create(lanes(2), {}).ok());
}

// What a job does to the program's name does not choose what later jobs run.
TEST(Jobs, StartTheFileThatWasOpened) {
  const ProgramFolder folder;
  Program program = program_at(folder.add("program", kExitsWithSeven));
  auto file = ProgramFile::open(program.path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->path(), program.path);
  EXPECT_EQ((*file)->bytes().size(), std::filesystem::file_size(program.path));
  std::filesystem::remove(program.path);
  folder.add("program", kWildStore);
  program.file = *file;
  auto machine = Machine::create(lanes(2));
  for (const auto& [index, result] : run_all_jobs(*machine, program, std::vector<Job>(1))) {
    EXPECT_EQ(result.stop.exit_status, 7) << result.stop.message;
  }
  // The same for a job's own program.
  std::vector<Job> jobs(1);
  jobs[0].program = program.path;
  jobs[0].file = *file;
  EXPECT_EQ(run_all_jobs(*machine, {}, jobs).at(0).stop.exit_status, 7);
  ASSERT_TRUE(machine->load_program(program).ok());
  EXPECT_EQ(machine->run().exit_status, 7);
}

// The callback replaces the program when the first results are there.
TEST(Fleet, AllSharesStartTheSameFile) {
  const ProgramFolder folder;
  const std::string path = folder.add("program", kExitsWithSeven);
  for (const bool own : {false, true}) {
    std::vector<Job> jobs(20);
    for (unsigned i = 0; i < jobs.size(); ++i) jobs[i] = {i, own ? path : "", {}, {}};
    auto fleet = Fleet::create(lanes(1), {0, 0});
    unsigned sevens = 0;
    const auto ran = fleet->run_jobs(own ? Program() : program_at(path), jobs, [&](JobResult&& result) {
      sevens += result.stop.exit_status == 7;
      std::filesystem::remove(path);
      folder.add("program", kWildStore);
    });
    EXPECT_TRUE(ran.ok());
    EXPECT_EQ(sevens, jobs.size());
    std::filesystem::remove(path);
    folder.add("program", kExitsWithSeven);
  }
}

TEST(Jobs, OneThatHoardsDescriptorsStarvesItselfAlone) {
  const ProgramFolder folder;
  const Program program = program_at(folder.add("hoards", kHoardsPipes));
  Options options = lanes(8, 4);
  options.descriptors = 128;
  std::vector<Job> jobs(30);
  for (unsigned i = 0; i < jobs.size(); ++i) jobs[i].index = i;
  const auto pipes = [&](Machine& machine) {
    std::map<int, unsigned> counts;
    for (const auto& [index, result] : run_all_jobs(machine, program, jobs)) ++counts[result.stop.exit_status];
    return counts;
  };
  // 128 descriptors for four threads, two of each for the process itself.
  auto machine = Machine::create(options);
  EXPECT_EQ(pipes(*machine), (std::map<int, unsigned>{{15, 30}}));
  // Lanes that are loaded are all there at the same time.
  ASSERT_TRUE(machine->load_program(program).ok());
  for (const Stop& stop : machine->run_all()) EXPECT_EQ(stop.exit_status, 8);
  options.descriptors = 1;
  auto least = Machine::create(options);
  EXPECT_EQ(pipes(*least), (std::map<int, unsigned>{{8, 30}}));
}

TEST(Fleet, CancelIsForGood) {
  const ProgramFolder folder;
  auto fleet = Fleet::create(lanes(2), {0, 0});
  fleet->cancel();
  EXPECT_TRUE(run_all_jobs(*fleet, program_at(folder.add("forever", kForever)), distinct_jobs(9)).empty());
}

}  // namespace
}  // namespace kvrm
