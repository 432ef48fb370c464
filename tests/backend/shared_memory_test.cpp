// Lanes that share one memory, run by the kernel's code on simulated warps.
#include <gtest/gtest.h>

#include "../machine/shared_words.h"
#include "lane_guest_memory.h"
#include "simulated_device.h"
#ifdef KVRM_LANE_BITCODE
#include "translate_regions.h"
#endif

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using kernel::Order;
using kernel::StopKind;
using memory::kPageSize;

constexpr u64 kData = 0x40000, kDataBytes = 64 * kPageSize;

// What the lanes run: code that they can write, code that no lane can write, and translated code.
enum class Code { kWritable, kFixed, kTranslated };

struct Shape {
  u32 group_shift, groups;
  bool locks = false, reconverge = false;
  Lanes kind = Lanes::kFibers;
  Code code = Code::kWritable;
};
// Two lanes of one warp, of two blocks; more of both; on a device without 16-byte exchanges; by the rule of
// reconvergence.
const Shape kWritableShapes[] = {
    {1, 1}, {0, 2}, {2, 2}, {5, 1}, {0, 2, true}, {2, 2, true}, {1, 1, false, true}, {2, 1, true, true},
};
const std::vector<Shape> kShapes = [] {
  std::vector<Shape> shapes(std::begin(kWritableShapes), std::end(kWritableShapes));
  const auto add = [&](Code code, std::initializer_list<Shape> some) {
    for (Shape shape : some) {
      shape.code = code;
      shapes.push_back(shape);
    }
  };
  add(Code::kFixed, {{0, 2}, {2, 2}, {2, 2, true}});
#ifdef KVRM_LANE_BITCODE
  add(Code::kTranslated, {{0, 2}, {2, 2}, {5, 1}, {2, 2, true}, {1, 1, false, true}});
#endif
  return shapes;
}();

// One memory with programs at kCode, a page each.
class CommonDevice {
 public:
  CommonDevice(const Shape& shape, const std::vector<Words>& programs)
      : shape_(shape),
        space_(u64{4} << 20, true),
        device_(
            {.group_shift = shape.group_shift, .groups = shape.groups, .shares_memory = true, .locks = shape.locks}),
        cpus_(device_.lane_count()) {
    EXPECT_TRUE(space_.map(kCode, programs.size() * kPageSize, shape.code == Code::kWritable ? 7 : 5));
    EXPECT_TRUE(space_.map(kData, kDataBytes, 3));
    for (u64 i = 0; i < programs.size(); ++i) {
      EXPECT_TRUE(space_.poke(kCode + i * kPageSize, programs[i].data(), programs[i].size() * 4));
    }
    for (Cpu& cpu : cpus_) {
      cpu.pc = kCode;
      cpu.x[0] = kData;
    }
  }
  u32 lanes() const { return device_.lane_count(); }
  Cpu& cpu(u32 lane) { return cpus_[lane]; }
  const WholeCpu& end(u32 lane) { return device_.end(lane).registers; }

  // So many launches pause after a slice, and another resumes. Returns the number of launches.
  u32 run(u64 seed, u32 pauses = 0) {
    cuda::StartSet starts;
    std::vector<SimulatedDevice::Job> jobs;
    for (const Cpu& cpu : cpus_) {
      cuda::StartSet::Contents contents;
      contents.cpu = cpu;
      contents.areas = space_.source_areas();
      contents.pages = space_.private_pages();
      contents.shares_memory = true;
      jobs.push_back({starts.add(contents), {}});
    }
    device_.load(starts, jobs);
    EXPECT_EQ(starts.shared_code().size(), shape_.code == Code::kWritable ? 0u : 1u);
    if (shape_.code == Code::kTranslated) translate_all(starts.shared_code().front());
    return launch(seed, Order::kStart, pauses);
  }
  // All of them begin anew, with what is in memory now.
  void run_again(u64 seed) {
    for (u32 lane = 0; lane < lanes(); ++lane) device_.lane(lane).registers.pc = kCode;
    launch(seed, Order::kContinue);
  }
  u64 word(u64 address) {
    u64 value = 0;
    EXPECT_TRUE(LaneGuestMemory(device_.lane(0).space).peek(address, &value, sizeof value));
    return value;
  }
  memory::LaneSpace& space() { return device_.lane(0).space; }
  u64 retired_in_regions() const { return device_.retired_in_regions(); }
  // As the host does.
  void poke(u64 address, u32 word) { EXPECT_TRUE(LaneGuestMemory(device_.lane(0).space).poke(address, &word, 4)); }

 private:
  u32 launch(u64 seed, Order order, u32 pauses = 0) {
    const u32 launches = device_.run({.kind = shape_.kind,
                                      .seed = seed,
                                      .slice = 300,
                                      .reconverge = shape_.reconverge,
                                      .orders = std::vector(lanes(), order),
                                      .pauses = pauses});
    for (u32 lane = 0; lane < lanes(); ++lane) {
      EXPECT_EQ(device_.end(lane).stop.kind, StopKind::kTrap) << lane;
      EXPECT_EQ(device_.end(lane).stop.trap, Trap::kHalt) << lane;
    }
    return launches;
  }

  void translate_all([[maybe_unused]] const cuda::StartSet::SharedCode& code) {
#ifdef KVRM_LANE_BITCODE
    std::set<u64> entries;
    for (u64 i = 0; i < code.words.size(); ++i) {
      if (code.words[i] != 0) entries.insert(i);
    }
    const auto limits = [] { return translator::PlanLimits{.once = true}; };
    device_.install_regions(
        code, translate(code, {.alone = shape_.group_shift == 0, .shares_memory = true}, entries, limits, false));
#endif
  }

  const Shape shape_;
  memory::AddressSpace space_;
  SimulatedDevice device_;
  std::vector<Cpu> cpus_;
};

// Few where every step is slow: lanes that spin under the rule of reconvergence.
u64 rounds(const Shape& shape) { return shape.reconverge ? 2 : 64 / (shape.groups << shape.group_shift); }

std::string name_of(const Shape& shape) {
  return std::to_string(shape.groups) + " groups of " + std::to_string(1 << shape.group_shift) +
         (shape.locks ? ", locks" : "") + (shape.reconverge ? ", reconverging" : "") +
         (shape.kind == Lanes::kThreads ? ", threads" : "") +
         (shape.code == Code::kFixed        ? ", fixed code"
          : shape.code == Code::kTranslated ? ", translated"
                                            : "");
}

TEST(SharedLanes, CountersAndLocksAreAtomic) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    for (const Words& words : {kAddLdadd, kAddExclusive, kLockExclusive, kLockCas, kLockSwap}) {
      CommonDevice device(shape, {words});
      for (u32 lane = 0; lane < device.lanes(); ++lane) device.cpu(lane).x[1] = rounds(shape);
      device.run(1);
      const bool counts = words == kAddLdadd || words == kAddExclusive;
      EXPECT_EQ(device.word(counts ? kData : kData + 64), device.lanes() * rounds(shape));
      // Where accesses are locked, they are the interpreter's.
      if (shape.code == Code::kTranslated && !shape.locks)
        EXPECT_GT(device.retired_in_regions(), device.lanes() * rounds(shape));
    }
  }
}

TEST(SharedLanes, PairsChangeAtomically) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    for (const Words& words : {kPairCasp, kPairExclusive}) {
      CommonDevice device(shape, {words, kAddLdadd});
      for (u32 lane = 0; lane < device.lanes(); ++lane) {
        device.cpu(lane).x[1] = rounds(shape);
        device.cpu(lane).pc = kCode + lane % 2 * kPageSize;
      }
      device.run(2);
      EXPECT_EQ(device.word(kData), device.lanes() * rounds(shape));
      EXPECT_EQ(device.word(kData + 8), 3 * (device.lanes() / 2 * rounds(shape)));
    }
  }
}

// Lanes on threads, where each step takes long: no lane spins here.
TEST(SharedLanes, ThreadsAreAtomic) {
  for (const bool locks : {false, true}) {
    for (const Words& words : {kAddExclusive, kPairCasp}) {
      CommonDevice device({1, 1, locks, false, Lanes::kThreads}, {words});
      for (u32 lane = 0; lane < device.lanes(); ++lane) device.cpu(lane).x[1] = 5;
      device.run(7);
      EXPECT_EQ(device.word(kData), device.lanes() * 5);
    }
  }
}

// All lanes wait for the last one, which tells them a number.
void listen_and_tell(CommonDevice& device) {
  const u32 teller = device.lanes() - 1;
  device.cpu(teller).pc = kCode + kPageSize;
  device.cpu(teller).x[1] = 5;
  device.cpu(teller).x[4] = 77;
}
void expect_heard(CommonDevice& device) {
  for (u32 lane = 0; lane + 1 < device.lanes(); ++lane) EXPECT_EQ(device.end(lane).x[3], 77u) << lane;
}

// The one all others wait for runs too.
TEST(SharedLanes, SpinningLaneSeesTheOther) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    CommonDevice device(shape, {kListen, kTell});
    listen_and_tell(device);
    device.run(3);
    expect_heard(device);
  }
}

// In launches too short for every lane to lead: round robin continues in the next launch.
TEST(SharedLanes, NoLaneStarvesInShortLaunches) {
  constexpr u32 kPauses = 5000;
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    CommonDevice device(shape, {kListen, kTell});
    listen_and_tell(device);
    EXPECT_LT(device.run(4, kPauses), kPauses);
    expect_heard(device);
  }
}

TEST(SharedLanes, WritesPrecedeLaterReads) {
  constexpr u64 kRounds = 10, kLine = 64, kStep = kRounds * kLine;
  for (const Shape& shape : {Shape{1, 1}, Shape{0, 2}, Shape{0, 2, true}}) {
    SCOPED_TRACE(name_of(shape));
    for (const Words& words : {kStoreBuffer, kStoreBufferOrdered}) {
      CommonDevice device(shape, {words});
      for (u32 lane = 0; lane < 2; ++lane) {
        device.cpu(lane).x[1] = kRounds;
        device.cpu(lane).x[5] = kData;
        device.cpu(lane).x[6] = kData + kStep * (1 + lane);
        device.cpu(lane).x[7] = kData + kStep * (2 - lane);
        device.cpu(lane).x[8] = kData + kStep * 3 + kRounds * 8 * lane;
      }
      device.run(4);
      for (u64 round = 0; round < kRounds; ++round) {
        const u64 at = kData + kStep * 3 + round * 8;
        ASSERT_TRUE(device.word(at) == 1 || device.word(at + kRounds * 8) == 1) << "round " << round;
      }
    }
  }
}

TEST(SharedLanes, CodeWrittenByAnotherLaneIsSeen) {
  for (const Shape& shape : kWritableShapes) {
    SCOPED_TRACE(name_of(shape));
    CommonDevice device(shape, {kPatched, kPatch});
    const u32 writer = device.lanes() - 1;
    device.cpu(writer).pc = kCode + kPageSize;
    device.cpu(writer).x[4] = movz(3, 99);
    device.cpu(writer).x[5] = kCode + 12;
    device.run(5);
    for (u32 lane = 0; lane < writer; ++lane) EXPECT_EQ(device.end(lane).x[3], 99u) << lane;
  }
}

// Code that no lane can write is decoded once, until the host writes to it.
TEST(SharedLanes, CodeWrittenByTheHostIsSeen) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    CommonDevice device(shape, {{movz(3, 1), movz(4, 2), hlt(0)}});
    device.run(8);
    for (u32 lane = 0; lane < device.lanes(); ++lane) EXPECT_EQ(device.end(lane).x[3], 1u) << lane;
    device.poke(kCode, movz(3, 99));
    device.run_again(9);
    for (u32 lane = 0; lane < device.lanes(); ++lane) {
      EXPECT_EQ(device.end(lane).x[3], 99u) << lane;
      EXPECT_EQ(device.end(lane).x[4], 2u) << lane;
    }
  }
}

TEST(SharedLanes, LanesCannotChangeTheMap) {
  CommonDevice device({1, 1}, {{hlt(0)}});
  device.run(6);
  LaneGuestMemory memory(device.space());
  EXPECT_FALSE(memory.map(kData + kDataBytes, kPageSize, 3));
  EXPECT_FALSE(memory.unmap(kData, kPageSize));
  EXPECT_FALSE(memory.protect(kData, kPageSize, 1));
  EXPECT_FALSE(memory.move(kData, kPageSize, 2 * kData, kPageSize));
  EXPECT_FALSE(memory.discard(kData, kPageSize));
}

}  // namespace
}  // namespace kvrm::backend::test
