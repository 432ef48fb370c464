// Every call on a machine that a fork inherited reports the fork, and none hangs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <thread>

#include "kvrm/fleet.h"
#include "programs.h"

namespace kvrm {
namespace {

using namespace test;

constexpr const char* kReason = "is a fork of it";

// Whether `work` is true in a fork; one that hangs is killed.
testing::AssertionResult holds_in_a_fork(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return testing::AssertionFailure() << "no fork";
  if (status == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << (WIFSIGNALED(status) ? "killed by signal " : "ended with ")
                                     << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

bool says_so(const std::string& message) { return message.find(kReason) != std::string::npos; }
template <class T>
bool says_so(const Result<T>& result) {
  return !result.ok() && says_so(result.error().message);
}
bool says_so(const Stop& stop) { return stop.reason == StopReason::kDevice && says_so(stop.message); }
bool throws(const std::function<void()>& work) try {
  work();
  return false;
} catch (const std::runtime_error& error) {
  return says_so(error.what());
}

// Has threads: one for each lane but the first.
Machine machine_that_ran() {
  Options options;
  options.device = Device::kCpu;
  options.lanes = options.threads = 3;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  const Words words = {movz(0, 7), hlt(0)};
  for (unsigned lane = 0; lane < 3; ++lane) {
    EXPECT_TRUE(machine->lane(lane).load(bytes_of(words), kCode).ok());
    machine->lane(lane).set_pc(kCode);
  }
  for (const Stop& stop : machine->run_all()) EXPECT_EQ(stop.reason, StopReason::kHalt);
  return std::move(*machine);
}

TEST(Fork, EveryResultIsTheError) {
  Machine machine = machine_that_ran();
  std::array<std::byte, 4> bytes{};
  EXPECT_TRUE(machine.check_process().ok());
  EXPECT_TRUE(holds_in_a_fork([&] {
    return says_so(machine.check_process()) && says_so(machine.load(bytes, kCode)) && says_so(machine.load({}, 0)) &&
           says_so(machine.load_code(bytes, 0x20000)) && says_so(machine.map(0x30000, 4096, kProtectRead)) &&
           says_so(machine.protect(kCode, 4096, kProtectRead)) && says_so(machine.unmap(kCode, 4096)) &&
           says_so(machine.map_shared(0x40000, 4096, kProtectRead)) && says_so(machine.read(kCode, bytes)) &&
           says_so(machine.write(kCode, bytes)) && says_so(machine.view_registers()) &&
           says_so(machine.lane(0).dispatch_statistics()) && says_so(machine.load_program({})) &&
           says_so(machine.lane(0).load_program({})) && says_so(machine.run_jobs({}, {}, [](JobResult&&) {}));
  }));
  EXPECT_TRUE(machine.read(kCode, bytes).ok());
}

TEST(Fork, RunsStopWithTheError) {
  Machine machine = machine_that_ran();
  EXPECT_TRUE(holds_in_a_fork([&] {
    const std::vector<Stop> all = machine.run_all();
    machine.start();
    const std::vector<Stop> waited = machine.wait();
    return says_so(machine.run()) && all.size() == 3 && says_so(all[2]) && waited.size() == 3 && says_so(waited[1]) &&
           says_so(machine.run_continuous(10).stop) && says_so(machine.run_mega(10).stop);
  }));
}

TEST(Fork, ValuesThrowTheError) {
  Machine machine = machine_that_ran();
  EXPECT_TRUE(holds_in_a_fork([&] {
    return throws([&] { (void)machine.x(0); }) && throws([&] { machine.set_x(0, 1); }) &&
           throws([&] { (void)machine.sp(); }) && throws([&] { machine.set_sp(1); }) &&
           throws([&] { (void)machine.pc(); }) && throws([&] { machine.set_pc(1); }) &&
           throws([&] { (void)machine.nzcv(); }) && throws([&] { machine.set_nzcv(1); }) &&
           throws([&] { (void)machine.v(0); }) && throws([&] { machine.set_v(0, {}); }) &&
           throws([&] { (void)machine.registers(); }) && throws([&] { machine.set_registers({}); }) &&
           throws([&] { (void)machine.take_output(); }) && throws([&] { (void)machine.statistics(); });
  }));
  EXPECT_EQ(machine.lane(2).x(0), 7u);
}

TEST(Fork, AnInheritedMachineCanBeDestroyed) {
  auto machine = std::make_unique<Machine>(machine_that_ran());
  EXPECT_TRUE(holds_in_a_fork([&] {
    Options options;
    options.device = Device::kCpu;
    *machine = std::move(*Machine::create(options));  // destroys what was inherited
    machine->set_pc(kCode);
    const bool works = machine->run().reason == StopReason::kFault;
    machine.reset();
    return works;
  }));
  EXPECT_TRUE(holds_in_a_fork([&] {
    machine.reset();
    return true;
  }));
}

TEST(Fork, OfAProcessWhoseMachineRuns) {
  Machine machine = machine_with({b(0)});
  machine.start();
  while (machine.poll().instructions == 0) std::this_thread::yield();
  EXPECT_TRUE(holds_in_a_fork([&] {
    machine.cancel();
    const bool runs = machine.is_running() || machine.poll().running;
    const Machine gone = std::move(machine);
    return !runs && says_so(gone.check_process());
  }));
  EXPECT_TRUE(machine.is_running());
  machine.cancel();
  EXPECT_EQ(machine.wait().at(0).reason, StopReason::kCancelled);
}

TEST(Fork, OfAFleet) {
  Options options;
  options.device = Device::kCpu;
  auto fleet = Fleet::create(options, {0, 0});
  ASSERT_TRUE(fleet.ok());
  const std::vector<Job> jobs(2);
  EXPECT_TRUE(holds_in_a_fork([&] {
    return says_so(fleet->run_jobs({}, jobs, [](JobResult&&) {})) && throws([&] { (void)fleet->statistics(); });
  }));
}

// A grandchild is as far away as a child.
TEST(Fork, OfAFork) {
  Machine machine = machine_that_ran();
  EXPECT_TRUE(holds_in_a_fork([&] { return holds_in_a_fork([&] { return says_so(machine.run()); }); }));
}

}  // namespace
}  // namespace kvrm
