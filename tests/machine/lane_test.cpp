// Lane handles, bad indexes, programs from memory, and the adapter that forwards memories.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "kvrm/machine.h"
#include "kvrm/program_file.h"
#include "memory/address_space.h"
#include "programs.h"

namespace kvrm {
namespace {

using namespace test;

constexpr std::uint64_t kCode = 0x10000;

Machine two_lanes() {
  Options options;
  options.device = Device::kCpu;
  options.lanes = 2;
  return std::move(Machine::create(options)).value();
}

TEST(Lane, HandleReachesItsLaneOnly) {
  Machine machine = two_lanes();
  Lane second = machine.lane(1);
  EXPECT_EQ(second.index(), 1u);
  EXPECT_EQ(&second.machine(), &machine);
  ASSERT_TRUE(second.load(bytes_of({movz(0, 7), hlt(3)}), kCode).ok());
  second.set_pc(kCode);
  second.set_sp(0x8000);
  second.set_nzcv(0xa0000000);
  second.set_v(31, {1, 2});
  const Stop stop = second.run();
  EXPECT_EQ(stop.reason, StopReason::kHalt);
  EXPECT_EQ(stop.instructions, 1u);
  EXPECT_EQ(second.x(0), 7u);
  EXPECT_EQ(second.sp(), 0x8000u);
  EXPECT_EQ(second.nzcv(), 0xa0000000u);
  EXPECT_EQ(second.v(31), (Vector{1, 2}));
  EXPECT_TRUE(machine.registers() == Registers{}) << "lane 0 has not changed";
  std::byte byte{};
  EXPECT_FALSE(machine.read(kCode, {&byte, 1}).ok());
}

TEST(Lane, ShortFormsAreThoseOfLaneZero) {
  Machine machine = two_lanes();
  machine.set_x(5, 55);
  machine.set_pc(kCode);
  const Machine& constant = machine;
  EXPECT_EQ(constant.lane(0).x(5), 55u);
  EXPECT_EQ(constant.lane(0).pc(), constant.pc());
  EXPECT_EQ(constant.lane(1).x(5), 0u);
}

TEST(Lane, BadIndexThrowsOutOfRange) {
  Machine machine = two_lanes();
  EXPECT_THROW((void)machine.lane(2), std::out_of_range);
  EXPECT_THROW((void)std::as_const(machine).lane(~0u), std::out_of_range);
  for (Lane lane : {machine.lane(0), machine.lane(1)}) {
    EXPECT_THROW((void)lane.x(31), std::out_of_range);
    EXPECT_THROW(lane.set_x(31, 1), std::out_of_range);
    EXPECT_THROW((void)lane.v(32), std::out_of_range);
    EXPECT_THROW(lane.set_v(32, {}), std::out_of_range);
  }
  EXPECT_THROW((void)machine.x(31), std::out_of_range);
  EXPECT_THROW((void)machine.v(32), std::out_of_range);
  try {
    (void)machine.lane(2);
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "there is no lane 2; the machine has 2");
  }
}

TEST(Lane, EndedProgramGivesTheSameStopWithoutInstructions) {
  const ProgramFolder folder;
  Machine machine = two_lanes();
  Program program;
  program.path = folder.add("seven", kExitsWithSeven);
  ASSERT_TRUE(machine.lane(1).load_program(program).ok());
  EXPECT_GT(machine.lane(1).run().instructions, 0u);
  const Stop again = machine.lane(1).run();
  EXPECT_EQ(again.reason, StopReason::kExit);
  EXPECT_EQ(again.exit_status, 7);
  EXPECT_EQ(again.instructions, 0u);
}

TEST(ProgramFromBytes, RunsWithoutAFile) {
  Result<std::vector<std::uint8_t>> elf = Error{"not read"};
  {
    const ProgramFolder folder;
    elf = read_file(folder.add("seven", kExitsWithSeven));
  }
  ASSERT_TRUE(elf.ok());
  auto program = Program::from_bytes(std::as_bytes(std::span(*elf)), "seven");
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->path, "seven");
  EXPECT_EQ(program->file->bytes().size(), elf->size());
  Machine machine = two_lanes();
  ASSERT_TRUE(machine.load_program(*program).ok());
  for (const Stop& stop : machine.run_all()) EXPECT_EQ(stop.exit_status, 7);
  const std::vector<Job> jobs(3);
  int exits = 0;
  ASSERT_TRUE(
      machine.run_jobs(*program, jobs, [&](JobResult&& result) { exits += result.stop.exit_status == 7; }).ok());
  EXPECT_EQ(exits, 3);
}

TEST(ProgramFromBytes, BadImagesAreErrors) {
  const std::vector<std::byte> noise(100);
  EXPECT_FALSE(Program::from_bytes(noise, "").ok());
  auto program = Program::from_bytes(noise, "noise");
  ASSERT_TRUE(program.ok());
  Machine machine = two_lanes();
  const auto loaded = machine.load_program(*program);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message.substr(0, 6), "noise:");
}

// Forwards to an address space, or to nothing.
class Reached final : public memory::ForwardingMemory<Reached> {
 public:
  explicit Reached(memory::AddressSpace* space) : space_(space) {}
  template <class T, class F>
  T visit(T failed, F work) const {
    return space_ ? work(*space_) : failed;
  }

 private:
  memory::AddressSpace* space_;
};

TEST(ForwardingMemory, ForwardsEveryCallToItsTarget) {
  memory::AddressSpace space(std::uint64_t{1} << 20);
  Reached memory(&space);
  constexpr std::uint64_t kPage = memory::kPageSize;
  std::uint64_t value = 77, read = 0;
  EXPECT_TRUE(memory.map(kPage, kPage, memory::kRead | memory::kWrite));
  EXPECT_TRUE(memory.write(kPage, &value, sizeof value));
  EXPECT_TRUE(space.read(kPage, &read, sizeof read));
  EXPECT_EQ(read, 77u);
  EXPECT_TRUE(memory.protect(kPage, kPage, memory::kRead));
  EXPECT_FALSE(memory.write(kPage, &value, sizeof value));
  value = 78;
  EXPECT_TRUE(memory.poke(kPage, &value, sizeof value));
  EXPECT_TRUE(memory.read(kPage, &read, sizeof read) && memory.peek(kPage, &read, sizeof read));
  EXPECT_EQ(read, 78u);
  EXPECT_EQ(memory.accessible(kPage, 2 * kPage, memory::kRead), kPage);
  EXPECT_TRUE(memory.is_mapped(kPage, kPage) && memory.is_free(2 * kPage, kPage));
  EXPECT_EQ(memory.next_area(0)->start, kPage);
  EXPECT_EQ(memory.areas().size(), 1u);
  EXPECT_EQ(memory.find_free(kPage, 0, 8 * kPage), 7 * kPage);
  EXPECT_TRUE(memory.move(kPage, kPage, 4 * kPage, kPage));
  EXPECT_TRUE(memory.discard(4 * kPage, kPage));
  EXPECT_TRUE(memory.unmap(4 * kPage, kPage));
  EXPECT_TRUE(space.areas().empty());
}

TEST(ForwardingMemory, WithoutATargetEveryCallFails) {
  Reached memory(nullptr);
  std::byte byte{};
  EXPECT_FALSE(memory.read(0, &byte, 1));
  EXPECT_FALSE(memory.map(0, memory::kPageSize, memory::kRead));
  EXPECT_EQ(memory.accessible(0, 1, memory::kRead), 0u);
  EXPECT_FALSE(memory.find_free(memory::kPageSize, 0, 1 << 20).has_value());
  EXPECT_TRUE(memory.areas().empty());
}

}  // namespace
}  // namespace kvrm
