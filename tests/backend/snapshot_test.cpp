// What jobs have in common runs once, and their results do not depend on it.
#include "backend/kernel/snapshot.h"

#include <gtest/gtest.h>

#include "../machine/words.h"
#include "scratch_program.h"
#include "simulated_device.h"

namespace kvrm::backend {
namespace {

using namespace kvrm::test;
using namespace kvrm::backend::test;
using cuda::Call;
using kernel::Outcome;
using kernel::StopKind;
using memory::GuestMemory;
using memory::kPageSize;

constexpr u64 kScratchBytes = u64{256} * kPageSize;
constexpr u32 kGetcwd = 17, kRead = 63, kWrite = 64, kExit = 93, kMunmap = 215, kMmap = 222, kMprotect = 226,
              kGetrandom = 278;

// x19: the scratch area. Writes to pages of it, so many as x20 says, with a value that changes.
const Words kTouchPages = {
    0xd2a00a13,       //     mov x19, #0x500000
    0xaa1303e1,       //     mov x1, x19
    0xf9000034,       // 1:  str x20, [x1]
    0x91400421,       //     add x1, x1, #1, lsl #12
    subs_imm(20, 20, 1),  //
    b_ne(-3),         //
};
Words call(u32 number) { return {movz(8, number), svc(0)}; }
// mov x0, x19 and so on.
const Words kFromScratch = {0xaa1303e0};
// A map of its own: a page more, a page that may only be read, random bytes in the second page.
const Words kChangeMap = [] {
  Words words{movz(0, 0), movz(1, 8192), movz(2, 3), movz(3, 0x22), 0x92800004, movz(5, 0)};  // x4: -1
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(call(kMmap));
  add({0xaa0003f6, 0xf90002d6});  // mov x22, x0; str x22, [x22]
  add({0xaa1303e0, movz(1, 4096), movz(2, 1)});
  add(call(kMprotect));
  add({0x91400660, movz(1, 40), movz(2, 0)});  // add x0, x19, #1, lsl #12
  add(call(kGetrandom));
  add({0x914012c0, movz(1, 4096)});  // somewhere
  add(call(kMunmap));
  return words;
}();
// Reads, adds up what it read, what it wrote and what was random, writes what it read, and exits with the sum.
const Words kReadAndTell = [] {
  Words words{movz(0, 0), 0x91400e61, movz(2, 4096)};  // add x1, x19, #3, lsl #12
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(call(kRead));
  add({0xaa0003f4, 0xf9400275, 0x91400663, 0xf9400064, 0x8b0402b5});  // x20: size; x21: [x19] + [x19 + 4096]
  add({0x91400e61, 0x39400024, 0x8b0402b5});                          // and the first byte
  add({movz(0, 1), 0xaa1403e2});
  add(call(kWrite));
  add({0xaa1503e0});
  add(call(kExit));
  return words;
}();

Words joined(std::initializer_list<Words> parts) {
  Words words;
  for (const Words& part : parts) words.insert(words.end(), part.begin(), part.end());
  return words;
}
Words prepared(u32 pages, const Words& more = kChangeMap) {
  return joined({{movz(20, pages)}, kTouchPages, more, kReadAndTell});
}

Outcome serve(const Call& call, Cpu& cpu, GuestMemory&) {
  if (call.request.kind == kernel::RequestKind::kFault) return {.kind = kernel::OutcomeKind::kSignal, .code = 11};
  cpu.x[0] = 1;
  return {};
}

struct Ended {
  std::vector<kernel::JobEnd> ends;
  std::vector<std::string> outputs;
};
Ended run(const Words& words, const std::vector<std::string>& inputs, u32 shift, u32 groups, u64 budget = ~u64{0}) {
  memory::AddressSpace space(u64{4} << 20);
  cuda::StartSet starts;
  const u32 start = starts.add(scratch_program(words, space, kScratchBytes));
  SimulatedDevice device({.group_shift = shift, .groups = groups, .frames = 2048});
  std::vector<SimulatedDevice::Job> jobs;
  for (const std::string& input : inputs) jobs.push_back({start, input});
  device.load(starts, jobs);
  device.run({.budget = budget, .slice = 300, .serve = serve});
  EXPECT_EQ(device.world().frames_in_use(), 0u);
  Ended ended;
  for (u32 i = 0; i < inputs.size(); ++i) {
    ended.ends.push_back(device.end(i));
    ended.outputs.push_back(device.output(i));
  }
  return ended;
}

std::vector<std::string> some_inputs(u32 count) {
  std::vector<std::string> inputs;
  for (u32 i = 0; i < count; ++i) inputs.push_back(std::string(i % 5, char('a' + i)));
  return inputs;
}

// Each as it is alone. Gives how much they shared.
u64 expect_as_alone(const Words& words, u32 shift, u32 groups, u64 budget = ~u64{0}) {
  const auto inputs = some_inputs(24);
  const Ended together = run(words, inputs, shift, groups, budget);
  u64 shared = 0;
  for (u32 i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(i);
    const Ended alone = run(words, {inputs[i]}, shift, groups, budget);
    const kernel::JobEnd &a = together.ends[i], &b = alone.ends[0];
    EXPECT_EQ(b.shared, 0u);
    EXPECT_EQ(a.stop.kind, b.stop.kind);
    EXPECT_EQ(a.stop.code, b.stop.code);
    EXPECT_EQ(a.retired, b.retired);
    EXPECT_EQ(a.kernel_calls, b.kernel_calls);
    EXPECT_EQ(a.host_calls, b.host_calls);
    EXPECT_EQ(a.private_pages, b.private_pages);
    EXPECT_EQ(std::memcmp(&a.registers, &b.registers, sizeof a.registers), 0);
    EXPECT_EQ(together.outputs[i], alone.outputs[0]);
    EXPECT_LE(a.shared, a.retired);
    shared += a.shared;
  }
  return shared;
}

TEST(Snapshot, LaterJobsResumeFromIt) {
  for (const u32 shift : {0u, 1u, 3u}) EXPECT_GT(expect_as_alone(prepared(4), shift, shift == 3 ? 1 : 2), 0u) << shift;
}

TEST(Snapshot, BudgetsEndAtTheSameInstruction) {
  const Words words = prepared(3);
  const u64 before = run(words, {"x", "y"}, 0, 1).ends[1].shared;
  ASSERT_GT(before, 20u);
  EXPECT_EQ(expect_as_alone(words, 0, 1, before - 1), 0u);
  for (const u64 more : {0u, 1u, 2u, 7u}) EXPECT_GT(expect_as_alone(words, 0, 1, before + more), 0u) << more;
}

TEST(Snapshot, IsNotTakenAfterOutputOrHostCalls) {
  const Words writes = joined({{movz(0, 1), 0xaa1303e1, movz(2, 3)}, call(kWrite)});
  EXPECT_EQ(expect_as_alone(prepared(2, writes), 0, 1), 0u);
  const Words asks = joined({kFromScratch, {movz(1, 64)}, call(kGetcwd)});
  EXPECT_EQ(expect_as_alone(prepared(2, asks), 0, 1), 0u);
}

TEST(Snapshot, IsNotTakenWithTooManyPages) {
  // What is mapped is a page more.
  EXPECT_GT(expect_as_alone(prepared(kernel::Snapshot::kMostPages - 1), 0, 1), 0u);
  EXPECT_EQ(expect_as_alone(prepared(kernel::Snapshot::kMostPages), 0, 1), 0u);
}

}  // namespace
}  // namespace kvrm::backend
