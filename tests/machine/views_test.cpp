// Registers and memory that the host uses without copies.
#include <optional>

#include "words.h"

namespace kvrm::test {
namespace {

constexpr std::uint64_t kShared = 0x40000;

Machine cpu_machine(const Words& words) {
  Options options;
  options.device = Device::kCpu;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  EXPECT_TRUE(machine->load(bytes_of(words), kCode).ok());
  machine->set_pc(kCode);
  return std::move(*machine);
}

TEST(Views, RegistersAreTheLanesOwn) {
  Machine machine = cpu_machine({add_imm(0, 1, 5), hlt(0)});
  auto view = machine.view_registers();
  ASSERT_TRUE(view.ok());
  view->x[1] = 37;
  view->v[3] = 9;
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(view->x[0], 42u);
  EXPECT_EQ(machine.v(1).hi, 9u);
}

TEST(Views, RegistersOutliveTheMachine) {
  std::optional<RegisterView> view;
  {
    Machine machine = cpu_machine({movz(0, 7), hlt(0)});
    view = *machine.view_registers();
    EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  }
  EXPECT_EQ(view->x[0], 7u);
}

TEST(Views, SharedMemoryIsOneForBoth) {
  Machine machine = cpu_machine({ldr_x(0, 1), add_imm(0, 0, 1), str_w(0, 1), hlt(0)});
  auto shared = machine.map_shared(kShared, 2 * 4096, kProtectRead | kProtectWrite);
  ASSERT_TRUE(shared.ok());
  ASSERT_EQ(shared->bytes.size(), 2u * 4096);
  machine.set_x(1, kShared + 4096);
  shared->bytes[4096] = std::byte{41};
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(shared->bytes[4096], std::byte{42});
  // And again, with what the lane's translation cache now knows.
  shared->bytes[4096] = std::byte{7};
  machine.set_pc(kCode);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(shared->bytes[4096], std::byte{8});
  // The debugger's accesses see it too, and it is not private memory of any lane.
  std::byte read{};
  ASSERT_TRUE(machine.read(kShared + 4096, {&read, 1}).ok());
  EXPECT_EQ(read, std::byte{8});
  const std::byte written{3};
  ASSERT_TRUE(machine.write(kShared, {&written, 1}).ok());
  EXPECT_EQ(shared->bytes[0], written);
}

TEST(Views, SharedMemoryIsNotForCode) {
  Machine machine = cpu_machine({hlt(0)});
  EXPECT_FALSE(machine.map_shared(kShared, 4096, kProtectRead | kProtectExecute).ok());
  ASSERT_TRUE(machine.map_shared(kShared, 4096, kProtectRead).ok());
  EXPECT_FALSE(machine.protect(kShared, 4096, kProtectRead | kProtectExecute).ok());
  EXPECT_TRUE(machine.protect(kShared, 4096, kProtectRead | kProtectWrite).ok());
}

TEST(Views, SharedMemoryOutlivesItsMapping) {
  Machine machine = cpu_machine({str_w(0, 1), hlt(0)});
  auto shared = machine.map_shared(kShared, 4096, kProtectRead | kProtectWrite);
  ASSERT_TRUE(shared.ok());
  ASSERT_TRUE(machine.unmap(kShared, 4096).ok());
  machine.set_x(1, kShared);
  EXPECT_EQ(machine.run().reason, StopReason::kFault);
  shared->bytes[0] = std::byte{1};  // still there
  EXPECT_EQ(shared->bytes[0], std::byte{1});
}

TEST(Views, BadRangesAreRefused) {
  Machine machine = cpu_machine({hlt(0)});
  EXPECT_FALSE(machine.map_shared(kShared + 1, 4096, kProtectRead).ok());
  EXPECT_FALSE(machine.map_shared(kShared, 0, kProtectRead).ok());
  EXPECT_FALSE(machine.map_shared(kShared, std::uint64_t{1} << 60, kProtectRead).ok());
}

}  // namespace
}  // namespace kvrm::test
