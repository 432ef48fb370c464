// The lanes' side of the mailbox, with lanes and host in one thread and in random order: the host here is a script that
// makes one step at a time, so every interleaving can happen.
#include "backend/kernel/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>

#include "operations.h"
#include "simulated.h"

namespace kvrm::backend::test {
namespace {

using kernel::Command;
using kernel::Operation;

constexpr u32 kProcessWords = 5;

struct Lane {
  explicit Lane(u32 number) : number(number), space(u64{4} << 20), memory(space) {}

  kernel::LaneState state() { return {&cpu, process, kProcessWords}; }

  u32 number;
  memory::AddressSpace space;
  linux_abi::HostMemory memory;
  Cpu cpu{};
  u64 process[kProcessWords] = {};
  u32 slot = kernel::kNoSlot;
  u32 requests_left = 6;
  u32 served = 0;
};

// What the host knows of the lane whose request is in a slot.
struct Script {
  u32 lane = 0;
  u32 commands_left = 0;
  std::optional<Command> asked;
  std::vector<u8> data;
};

class World {
 public:
  World(u64 seed, u32 lanes, u32 slots) : random_(seed), box_(slots), scripts_(slots) {
    for (u32 i = 0; i < lanes; ++i) {
      lanes_.push_back(std::make_unique<Lane>(i));
      mirrors_.push_back(std::make_unique<memory::AddressSpace>(u64{4} << 20));
      expected_.emplace_back();
    }
  }

  void run() {
    u64 steps = 0;
    for (bool busy = true; busy;) {
      ASSERT_LT(++steps, u64{1} << 22) << "it does not get on";
      if (random_() & 1) {
        host_step(u32(below(random_, view().count)));
      } else {
        lane_step(*lanes_[below(random_, lanes_.size())]);
      }
      busy = false;
      for (const auto& lane : lanes_) busy = busy || lane->requests_left != 0 || lane->slot != kernel::kNoSlot;
    }
    EXPECT_EQ(box_.free_slots(), view().count);
    for (u32 i = 0; i < lanes_.size(); ++i) EXPECT_EQ(describe(lanes_[i]->space), describe(*mirrors_[i])) << i;
  }

 private:
  kernel::Mailbox view() { return box_.view(); }

  void lane_step(Lane& lane) {
    auto state = lane.state();
    if (lane.slot == kernel::kNoSlot) {
      if (lane.requests_left == 0) return;
      lane.slot = kernel::claim(view(), lane.number);
      if (lane.slot == kernel::kNoSlot) return;
      EXPECT_TRUE(taken_.insert(lane.slot).second) << "one slot for two lanes";
      --lane.requests_left;
      for (u32 i = 0; i < 33; ++i) lane.cpu.x[i] = random_();
      for (u64& word : lane.process) word = random_();
      lane.cpu.pc = random_();
      lane.cpu.v = 1;
      kernel::post(view(), lane.slot, {kernel::RequestKind::kFault, Trap::kAlignment, lane.number, lane.number + 1000},
                   state);
      return;
    }
    kernel::Outcome outcome;
    const u32 slot = lane.slot;
    const Cpu before = lane.cpu;
    const kernel::Poll poll = kernel::serve(view(), slot, lane.memory, state, outcome);
    if (poll != kernel::Poll::kDone) {
      EXPECT_TRUE(same_bytes(lane.cpu, before));
      return;
    }
    taken_.erase(slot);
    lane.slot = kernel::kNoSlot;
    ++lane.served;
    EXPECT_EQ(outcome.code, i32(lane.number));
    EXPECT_EQ(outcome.deadline_ns, lane.number + u64{5});
    const Expected& expected = expected_[lane.number];
    EXPECT_TRUE(same_bytes(lane.cpu, expected.cpu)) << lane.number;
    for (u32 i = 0; i < kProcessWords; ++i) EXPECT_EQ(lane.process[i], expected.process[i]);
  }

  void host_step(u32 number) {
    kernel::Slot& slot = view().slots[number];
    u32& flag = view().flags[number];
    Script& script = scripts_[number];
    if (flag == kernel::kRequest) {
      script.lane = slot.request.lane;
      ASSERT_LT(script.lane, lanes_.size());
      EXPECT_EQ(slot.request.job, script.lane + 1000);
      EXPECT_EQ(slot.request.trap, Trap::kAlignment);
      Lane& lane = *lanes_[script.lane];
      EXPECT_TRUE(same_bytes(slot.cpu, lane.cpu));
      for (u32 i = 0; i < kProcessWords; ++i) EXPECT_EQ(slot.process[i], lane.process[i]);
      script.commands_left = u32(below(random_, 12));
      flag = kernel::kServing;
    } else if (flag == kernel::kAnswer) {
      check_answer(slot, script);
      flag = kernel::kServing;
    } else if (flag != kernel::kServing) {
      return;
    } else if (script.commands_left-- != 0) {
      ask(slot, script);
      flag = kernel::kCommand;
    } else {
      reply(slot, script);
      flag = kernel::kReply;
    }
  }

  void ask(kernel::Slot& slot, Script& script) {
    using memory::kPageSize;
    Command command{};
    command.operation = Operation(below(random_, 14));
    command.protection = below(random_, 3) == 0 ? u32(below(random_, 8)) : 3;
    const bool copies = command.operation <= Operation::kAccessible;
    command.address = copies ? kBase + below(random_, kPages * kPageSize) : kBase + kPageSize * below(random_, kPages);
    command.size = copies ? below(random_, kernel::kDataBytes + 1) : kPageSize * (1 + below(random_, 4));
    command.to = kBase + kPageSize * below(random_, kPages);
    command.to_size = kPageSize * (1 + below(random_, 4));
    if (command.operation == Operation::kAreas) command.address = below(random_, 4);
    fill_randomly(random_, slot.data, sizeof slot.data);
    script.data.assign(slot.data, slot.data + sizeof slot.data);
    script.asked = command;
    slot.command = command;
  }

  // The same on the mirror gives the same.
  void check_answer(kernel::Slot& slot, Script& script) {
    linux_abi::HostMemory mirror(*mirrors_[script.lane]);
    auto body = std::make_unique<kernel::Slot>();
    body->command = *script.asked;
    std::copy(script.data.begin(), script.data.end(), body->data);
    kernel::detail::execute(*body, mirror);
    EXPECT_EQ(slot.command.result, body->command.result) << u32(script.asked->operation);
    EXPECT_TRUE(std::equal(body->data, body->data + sizeof body->data, slot.data));
  }

  void reply(kernel::Slot& slot, Script& script) {
    Expected& expected = expected_[script.lane];
    expected.cpu = slot.cpu;
    for (u32 i = 0; i < kProcessWords; ++i) expected.process[i] = slot.process[i];
    const u64 x0 = random_(), clock = random_();
    slot.reply = {{kernel::OutcomeKind::kExit, i32(script.lane), script.lane + u64{5}}, below(random_, 4), x0, clock};
    // The body is filled with other values in any case: only what the reply names may change.
    fill_randomly(random_, &slot.cpu, sizeof slot.cpu);
    fill_randomly(random_, slot.process, sizeof slot.process);
    if (slot.reply.changed & kernel::kChangedCpu) expected.cpu = slot.cpu;
    if (slot.reply.changed & kernel::kChangedProcess) std::copy_n(slot.process, kProcessWords, expected.process);
    expected.cpu.x[0] = x0;
    expected.cpu.clock_ns = clock;
  }

  struct Expected {
    Cpu cpu{};
    u64 process[kProcessWords] = {};
  };

  Random random_;
  SimulatedMailbox box_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<memory::AddressSpace>> mirrors_;
  std::vector<Expected> expected_;
  std::vector<Script> scripts_;
  std::set<u32> taken_;
};

TEST(Mailbox, RandomInterleavingsWithMoreLanesThanSlots) {
  for (u64 seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World(seed, 12, 3).run();
  }
}

TEST(Mailbox, RandomInterleavingsWithOneSlotAndWithMoreThanAWord) {
  World(100, 4, 1).run();
  World(101, 50, 37).run();
}

TEST(Mailbox, EverySlotIsClaimedOnce) {
  for (const u32 count : {1u, 31u, 32u, 33u, 100u}) {
    SimulatedMailbox box(count);
    std::set<u32> seen;
    for (u32 i = 0; i < count; ++i) seen.insert(kernel::claim(box.view(), i * 7919));
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
    EXPECT_EQ(kernel::claim(box.view(), 5), kernel::kNoSlot);
    kernel::release(box.view(), count / 2);
    EXPECT_EQ(kernel::claim(box.view(), 5), count / 2);
  }
}

TEST(Mailbox, AreasComeInPieces) {
  memory::AddressSpace space(u64{4} << 20);
  linux_abi::HostMemory memory(space);
  constexpr u64 kAreas = 400;
  for (u64 i = 0; i < kAreas; ++i) ASSERT_TRUE(space.map(kBase + 2 * i * memory::kPageSize, memory::kPageSize, 1));
  auto slot = std::make_unique<kernel::Slot>();
  u64 found = 0;
  for (u64 first = 0; first < kAreas; first += kernel::kAreasPerCommand) {
    slot->command = {Operation::kAreas, 0, first, 0, 0, 0, 0};
    kernel::detail::execute(*slot, memory);
    EXPECT_EQ(slot->command.result, kAreas);
    for (u64 i = first; i < std::min<u64>(kAreas, first + kernel::kAreasPerCommand); ++i, ++found) {
      kernel::AreaRecord record;
      std::memcpy(&record, slot->data + (i - first) * sizeof record, sizeof record);
      EXPECT_EQ(record.start, kBase + 2 * i * memory::kPageSize);
    }
  }
  EXPECT_EQ(found, kAreas);
}

}  // namespace
}  // namespace kvrm::backend::test
