// The kernel's code on simulated warps against the CPU's interpreter, lane by lane.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>

#include "../machine/words.h"
#include "compare.h"
#include "kvrm/models.h"
#include "neural/network.h"
#include "random_program.h"
#ifdef KVRM_LANE_BITCODE
#include "translate_regions.h"
#endif

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using memory::AddressSpace;
using memory::kPageSize;

constexpr u64 kProgram = 0x100000, kDataAt = 0x200000, kStack = 0x300000, kStackBytes = 4 * kPageSize;

std::set<u64> random_entries(Random& random, std::span<const u32> words, u32 count) {
  while (words.size() > 1 && words.back() == 0) words = words.first(words.size() - 1);
  std::set<u64> entries{0};  // where programs start
  for (u32 i = 0; i < count; ++i) entries.insert(below(random, words.size()));
  return entries;
}

// Of random size at random words.
std::vector<SimulatedRegion> stand_ins(Random& random, const cuda::StartSet::SharedCode& code, translator::LaneKind) {
  std::vector<SimulatedRegion> regions;
  for (const u64 entry : random_entries(random, code.words, 100)) {
    const auto part = code.words.subspan(entry, std::min<u64>(1 + below(random, 12), code.words.size() - entry));
    regions.push_back({code.start + entry * 4, {part.begin(), part.end()}});
  }
  return regions;
}

enum class Code { kShared, kOwn, kMixed };

// The same random program on every lane, with registers of its own.
Build random_machines(u64 seed, Code code, bool same_data) {
  const auto words = RandomProgram(seed).words();
  const auto image = image_of(words);
  const auto data = std::make_shared<memory::Image>(std::vector<u8>(2 * kPageSize, u8(seed)));
  return [=](u32 lane) {
    Random random(same_data ? seed : seed * 100 + lane);
    Machine machine;
    AddressSpace& space = *machine.space;
    const u64 size = image->padded_size();
    if (code == Code::kOwn) {
      EXPECT_TRUE(space.map(kProgram, size, 7));
      EXPECT_TRUE(space.poke(kProgram, words.data(), words.size() * 4));
    } else {
      EXPECT_TRUE(space.map_image(kProgram, size, memory::kRead | memory::kExecute, image, 0));
      // Some lanes have changed a word of their code (to what it is).
      if (code == Code::kMixed && lane % 2 == 1) EXPECT_TRUE(space.poke(kProgram, words.data(), 4));
    }
    EXPECT_TRUE(space.map_image(kDataAt, 2 * kPageSize, memory::kRead | memory::kWrite, data, 0));
    const bool hole = seed % 8 == 3;
    if (!hole) EXPECT_TRUE(space.map(kDataAt + 2 * kPageSize, kPageSize, memory::kRead | memory::kWrite));
    if (seed % 8 == 5 && lane % 2 == 0) EXPECT_TRUE(space.protect(kDataAt + kPageSize, kPageSize, memory::kRead));
    EXPECT_TRUE(space.map(kStack, kStackBytes, memory::kRead | memory::kWrite));
    for (u32 i = 0; i < 10; ++i) machine.cpu.x[i] = random() >> below(random, 64);
    machine.cpu.x[RandomProgram::kData] = kDataAt;
    machine.cpu.x[kSpSlot] = kStack + kStackBytes;
    machine.cpu.pc = kProgram;
    return machine;
  };
}

void run_random_programs(Lanes kind, u32 group_shift, u32 groups, u64 first, u64 count,
                         const MakeRegions& regions = {}) {
  for (u64 seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SimulatedDevice::Plan plan{
        .group_shift = group_shift, .groups = groups, .frames = 64 * groups, .tables = 8 * groups};
    // None, one with pages that want the same place, and one without.
    plan.most_window_shift = std::array{0u, 17u, 26u}[seed % 3];
    plan.prefetch = seed % 2 == 0;
    SimulatedDevice::Run run;
    run.kind = kind;
    run.slice = below(random, 2) == 0 ? 1 + u32(below(random, 40)) : 8192;
    run.reconverge = below(random, 4) != 0;
    const u64 budget = below(random, 2) == 0 ? 200 + below(random, 1000) : 100000;
    compare(plan, run, random_machines(seed, Code(below(random, 3)), below(random, 4) == 0), budget, seed, regions);
    if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
  }
}

TEST(Kernel, RandomProgramsOnOneLane) { run_random_programs(Lanes::kFibers, 0, 3, 1000, 40); }
TEST(Kernel, RandomProgramsOnTwoLanes) { run_random_programs(Lanes::kFibers, 1, 2, 2000, 30); }
TEST(Kernel, RandomProgramsOnFourLanes) { run_random_programs(Lanes::kFibers, 2, 2, 4000, 30); }
TEST(Kernel, RandomProgramsOnEightLanes) { run_random_programs(Lanes::kFibers, 3, 1, 8000, 30); }
TEST(Kernel, RandomProgramsOnAWholeWarp) { run_random_programs(Lanes::kFibers, 5, 1, 32000, 4); }
TEST(Kernel, RandomProgramsOnThreads) { run_random_programs(Lanes::kThreads, 2, 1, 5000, 3); }

// The same with parts of the program in regions: counts, budgets, faults and parted lanes stay exact.
void run_with_regions(const MakeRegions& regions, u32 group_shift, u32 groups, u64 first, u64 count) {
  retired_in_regions = 0;
  run_random_programs(Lanes::kFibers, group_shift, groups, first, count, regions);
  EXPECT_GT(retired_in_regions, 100u);
}
TEST(Kernel, RegionsOnOneLane) { run_with_regions(stand_ins, 0, 3, 11000, 40); }
TEST(Kernel, RegionsOnFourLanes) { run_with_regions(stand_ins, 2, 2, 14000, 40); }
TEST(Kernel, RegionsOnAWholeWarp) { run_with_regions(stand_ins, 5, 1, 42000, 4); }

#ifdef KVRM_LANE_BITCODE
std::vector<SimulatedRegion> translated(Random& random, const cuda::StartSet::SharedCode& code,
                                        translator::LaneKind kind) {
  const auto limits = [&] {
    return translator::PlanLimits{
        .blocks = 1 + u32(below(random, 12)), .words = 1 + u32(below(random, 40)), .once = below(random, 2) == 0};
  };
  const std::set<u64> entries = random_entries(random, code.words, 12);
  return translate(code, kind, entries, limits, below(random, 2) == 0);
}
TEST(Kernel, TranslatedRegionsOnOneLane) { run_with_regions(translated, 0, 3, 51000, 12); }
TEST(Kernel, TranslatedRegionsOnFourLanes) { run_with_regions(translated, 2, 2, 54000, 8); }
TEST(Kernel, TranslatedRegionsOnAWholeWarp) { run_with_regions(translated, 5, 1, 62000, 3); }

// Bitwise CRC-32 of a buffer, which is overwritten, for another number of bytes in each lane: pages that are not known
// yet and are copied when they are written, and lanes that leave the loop one after the other.
TEST(Kernel, TranslatedLoopMatchesInterpreter) {
  const auto image = image_of({0x394000a0, 0x52800101, 0x4a000063, 0x93400060, 0x71000421, 0x0a040000, 0x4a430403,
                               0x54ffff81, 0x390000a3, 0x910004a5, 0xeb0200bf, 0x54fffea1, hlt(0)});
  const auto data = std::make_shared<memory::Image>(std::vector<u8>(2 * kPageSize, u8{0x5a}));
  bool is_own = false;  // pages of each lane, which cannot be written any more
  const Build build = [&](u32 lane) {
    Machine machine;
    if (is_own) {
      EXPECT_TRUE(machine.space->map(kProgram, 2 * kPageSize, memory::kRead | memory::kWrite));
      EXPECT_TRUE(machine.space->poke(kProgram, image->page(0), kPageSize));
      EXPECT_TRUE(machine.space->protect(kProgram, 2 * kPageSize, memory::kRead | memory::kExecute));
    } else {
      EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
    }
    EXPECT_TRUE(machine.space->map_image(kDataAt, 2 * kPageSize, memory::kRead | memory::kWrite, data, 0));
    machine.cpu.x[4] = 0xedb88320;
    machine.cpu.x[5] = kDataAt + kPageSize - 100;
    machine.cpu.x[2] = machine.cpu.x[5] + 150 + 7 * lane;
    machine.cpu.pc = kProgram;
    return machine;
  };
  const MakeRegions regions = [](Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind kind) {
    return translate(code, kind, {0, 3}, [] { return translator::PlanLimits{}; }, false);
  };
  for (const u32 shift : {0u, 2u, 5u}) {
    for (const u64 budget : {300u, 3000u, 100000u}) {
      is_own = budget == 3000;
      retired_in_regions = 0;
      compare({.group_shift = shift, .groups = 2}, {}, build, budget, budget + shift, regions);
      EXPECT_GT(retired_in_regions, (u64{2} << shift) * 5000) << shift << ' ' << budget;
    }
  }
}

// Lanes with equal code in private pages that they cannot write share its decoded form; those pages count all the
// same.
TEST(Kernel, EqualCodeInPrivatePagesIsShared) {
  SimulatedDevice device({.group_shift = 1, .groups = 1});
  cuda::StartSet starts;
  std::vector<Machine> machines(2);
  std::vector<SimulatedDevice::Job> jobs;
  for (Machine& machine : machines) {
    const std::vector<u32> words = {movz(3, 1), hlt(0)};
    EXPECT_TRUE(machine.space->map(kProgram, kPageSize, memory::kRead | memory::kWrite));
    EXPECT_TRUE(machine.space->poke(kProgram, words.data(), words.size() * 4));
    EXPECT_TRUE(machine.space->protect(kProgram, kPageSize, memory::kRead | memory::kExecute));
    machine.cpu.pc = kProgram;
    jobs.push_back({starts.add(machine.contents()), {}});
  }
  ASSERT_EQ(starts.shared_code().size(), 1u);
  EXPECT_EQ(starts.word_at(0, kProgram + 4), starts.word_at(1, kProgram + 4));
  EXPECT_FALSE(starts.word_at(0, kProgram + kPageSize));
  device.load(starts, jobs);
  device.run({.budget = 1, .orders = {kernel::Order::kStart, kernel::Order::kStart}});
  for (u32 lane = 0; lane < 2; ++lane) EXPECT_EQ(device.lane(lane).space.private_pages, 1u);
  // Who writes to it has its own from then on.
  const u32 other = movz(3, 7);
  EXPECT_TRUE(LaneGuestMemory(device.lane(0).space).poke(kProgram, &other, sizeof other));
  for (u32 lane = 0; lane < 2; ++lane) device.lane(lane).registers.pc = kProgram;
  device.run({.orders = {kernel::Order::kContinue, kernel::Order::kContinue}});
  EXPECT_EQ(device.end(0).registers.x[3], 7u);
  EXPECT_EQ(device.end(1).registers.x[3], 1u);
  for (u32 lane = 0; lane < 2; ++lane) EXPECT_EQ(device.lane(lane).space.private_pages, 1u);
}

// A loop of accesses of all sizes, at addresses that move by odd numbers: across words within regions, across pages and
// three elements at a time (LD3, ST3 of one byte, halfword, word) and most stores outside of them.
TEST(Kernel, TranslatedAccessesAcrossWordsAreExact) {
  const auto image =
      image_of({0xf94000a0, 0x784030a1, 0x8b010000, 0xf90000c0, 0x780090c0, 0xa9410ca2, 0xa90108c3, 0x3dc008a3,
                0x3d800cc3, 0x0d402ca0, 0x0d0034c1, 0x0d4078a4, 0x0d0070c4, 0x4d40b0a4, 0x0d00b0c4, 0x4c4040b0,
                0x4c0044d0, 0x910004a5, 0x91000cc6, 0xeb0700bf, 0x54fffd81, hlt(0)});
  Random bytes(1);
  std::vector<u8> contents(4 * kPageSize);
  for (u8& byte : contents) byte = u8(bytes());
  const auto data = std::make_shared<memory::Image>(contents);
  const Build build = [&](u32 lane) {
    Machine machine;
    EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
    EXPECT_TRUE(machine.space->map_image(kDataAt, contents.size(), memory::kRead | memory::kWrite, data, 0));
    machine.cpu.x[5] = kDataAt + kPageSize - 100 + lane;
    machine.cpu.x[6] = kDataAt + 3 * kPageSize - 300 - lane;
    machine.cpu.x[7] = machine.cpu.x[5] + 200;
    machine.cpu.pc = kProgram;
    return machine;
  };
  constexpr u32 kLarge = 1000;
  for (const u32 shift : {0u, 2u, 5u}) {
    for (const bool remembers : {true, false}) {
      const MakeRegions regions = [&](Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind kind) {
        return translate(
            code, kind, {0, 9, 10, 11, 12, 13, 14, 15}, [] { return translator::PlanLimits{}; }, false,
            remembers ? kLarge : 0, !remembers);
      };
      retired_in_regions = 0;
      compare({.group_shift = shift, .groups = 2}, {}, build, 100000, 7 + shift, regions);
      EXPECT_GT(retired_in_regions, (u64{2} << shift) * 400) << shift;
    }
  }
}

// Addresses with tags, at both ends of the address space, across words and pages, and in pages that are not for
// everything, in small regions and in ones large enough to remember no pages: what a lane knows of its pages must not
// be mistaken for another one.
TEST(Kernel, TranslatedAccessesToUnusualAddressesAreExact) {
  constexpr u64 kReadOnly = kDataAt + kPageSize, kWriteOnly = kDataAt + 2 * kPageSize, kTag = u64{0x5a} << 56;
  constexpr u64 kEnd = ~u64{0}, kUntaggedEnd = kEnd >> 8;
  const std::vector<u64> addresses = {kDataAt,
                                      kDataAt | kTag,
                                      kDataAt + 5,
                                      (kDataAt + 5) | kTag,
                                      kReadOnly - 8,
                                      (kReadOnly - 8) | kTag,
                                      kReadOnly | kTag,
                                      kReadOnly,
                                      kWriteOnly,
                                      kWriteOnly | kTag,
                                      kWriteOnly | u64{1} << 63,
                                      0,
                                      kEnd,
                                      kEnd << 12,
                                      kEnd ^ kPageSize,
                                      kUntaggedEnd,
                                      kUntaggedEnd ^ kPageSize,
                                      kDataAt + (u64{1} << 48),
                                      kDataAt + (u64{1} << 32),
                                      kDataAt - kPageSize};
  const std::vector<u32> accesses = {
      0x394000a0,  // ldrb w0, [x5]
      0x390000a0,  // strb w0, [x5]
      0xa94008a0,  // ldp x0, x2, [x5]
      0xa90008a0,  // stp x0, x2, [x5]
      0xf94000a0,  // ldr x0, [x5]
      0xc8e0fca2,  // casal x0, x2, [x5]
  };
  for (const u32 room : {0u, 200u}) {  // words that do nothing, in each loop
    Words words;
    for (const u32 access : accesses) {
      // The tenth time from the end x5 becomes what x7 is.
      words.insert(words.end(), {0x394000c1 /* ldrb w1, [x6] */, access, subs_imm(4, 4, 1), subs_imm(31, 4, 10),
                                 0x9a8500e5 /* csel x5, x7, x5, eq */});
      words.insert(words.end(), room, kNop);
      words.insert(words.end(), {0xb5000004 | ((0u - 5u - room) & 0x7ffffu) << 5 /* cbnz x4 */, hlt(0)});
    }
    const auto image = image_of(words);
    const u64 loop = words.size() / accesses.size();
    const Build build = [&](u32 lane) {
      Machine machine;
      EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
      EXPECT_TRUE(machine.space->map(kDataAt, kPageSize, memory::kRead | memory::kWrite));
      EXPECT_TRUE(machine.space->map(kReadOnly, kPageSize, memory::kRead));
      EXPECT_TRUE(machine.space->map(kWriteOnly, kPageSize, memory::kWrite));
      machine.cpu.x[0] = lane;
      machine.cpu.x[4] = 20;
      machine.cpu.x[5] = machine.cpu.x[6] = kDataAt + 8 * lane;
      machine.cpu.x[7] = addresses[lane % addresses.size()];
      machine.cpu.pc = kProgram + lane / addresses.size() * loop * 4;
      return machine;
    };
    const MakeRegions regions = [&](Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind kind) {
      std::set<u64> entries;
      for (u64 i = 0; i < accesses.size(); ++i) entries.insert(i * loop);
      return translate(code, kind, entries, [] { return translator::PlanLimits{.words = 300}; }, false);
    };
    for (const u32 shift : {0u, 1u, 3u}) {
      retired_in_regions = 0;
      compare({.group_shift = shift, .groups = u32(addresses.size() * accesses.size()) >> shift}, {}, build, 100000,
              7 + shift, regions);
      EXPECT_GT(retired_in_regions, 5000u) << room << ' ' << shift;
    }
  }
}

// A loop, counted by x4, that is large enough for its region to probe the L1 TLB for each access; and that
// region.
Words large_loop(Words body) {
  body.insert(body.end(), 200, kNop);
  const u32 back = static_cast<u32>(body.size());
  body.insert(body.end(), {0xb5000004 | ((0u - back) & 0x7ffffu) << 5 /* cbnz x4 */, hlt(0)});
  return body;
}
std::vector<SimulatedRegion> large_region(Random&, const cuda::StartSet::SharedCode& code, translator::LaneKind kind) {
  return translate(code, kind, {0}, [] { return translator::PlanLimits{.words = 300}; }, false);
}

// Many accesses at fixed offsets from two addresses, in a region that is large enough for one TLB lookup for all of
// them: in one page and in two, at unaligned addresses, up to pages that cannot be written or
// are not there. What has been done when it goes wrong must be exact.
void check_ranges(u64 data, u32 window_shift) {
  constexpr u64 kBytes = 4 * kPageSize, kTag = u64{0x5a} << 56;
  const u64 read_only = data + 3 * kPageSize;
  const Words words = {
      0xa93d04a0,  // stp x0, x1, [x5, #-48]
      0xa93e0ca2,  // stp x2, x3, [x5, #-32]
      0xf81f00a0,  // stur x0, [x5, #-16]
      0x381f90a2,  // sturb w2, [x5, #-7]
      0xb81fc0a3,  // stur w3, [x5, #-4]
      0xa97e24a8,  // ldp x8, x9, [x5, #-32]
      0xf85f00aa,  // ldur x10, [x5, #-16]
      0x385f90ab,  // ldurb w11, [x5, #-7]
      0xa97d34ac,  // ldp x12, x13, [x5, #-48]
      0xf94004ce,  // ldr x14, [x6, #8]
      0xa941c0cf,  // ldp x15, x16, [x6, #24]
      0xb94014d1,  // ldr w17, [x6, #20]
      0x8b080042,  // add x2, x2, x8
      0xca110063,  // eor x3, x3, x17
      0x8b0f0000,  // add x0, x0, x15
      0x8b0b0021,  // add x1, x1, x11
      0x8b1400a5,  // add x5, x5, x20
      0x8b1500c6,  // add x6, x6, x21
      subs_imm(4, 4, 1),
  };
  const auto image = image_of(large_loop(words));
  constexpr u64 kSteps[] = {8, 16, 24, 4, 1, 64, u64{0} - 16};
  const u64 begins[] = {data + kPageSize - 64, data + 2 * kPageSize - 200, read_only - 48, read_only + 8, data + 80,
                        data + kBytes - 200};
  const Build build = [&](u32 lane) {
    Machine machine;
    EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
    EXPECT_TRUE(machine.space->map(data, kBytes, memory::kRead | memory::kWrite));
    for (u64 at = 0; at < kBytes; at += 8) {
      const u64 value = (at + 1) * 0x9e3779b97f4a7c15;
      EXPECT_TRUE(machine.space->poke(data + at, &value, sizeof value));
    }
    EXPECT_TRUE(machine.space->protect(read_only, kPageSize, memory::kRead));
    const u64 tag = lane % 2 == 1 ? kTag : 0;
    machine.cpu.x[0] = lane;
    machine.cpu.x[4] = 60;
    machine.cpu.x[5] = begins[lane % std::size(begins)] | tag;
    machine.cpu.x[6] = (begins[(lane + 1) % std::size(begins)] + (lane % 4 == 3 ? 2 : 8) * lane) | tag;
    machine.cpu.x[20] = kSteps[lane / std::size(begins) % std::size(kSteps)];
    machine.cpu.x[21] = machine.cpu.x[20];
    machine.cpu.pc = kProgram;
    return machine;
  };
  for (const u64 budget : {3000u, 100000u}) {
    retired_in_regions = 0;
    compare({.groups = u32(std::size(begins) * std::size(kSteps)), .most_window_shift = window_shift}, {}, build,
            budget, 7 + budget, large_region);
    EXPECT_GT(retired_in_regions, 10000u) << budget;
  }
}
TEST(Kernel, TranslatedAccessRangesAreExact) { check_ranges(kDataAt, 0); }
// The window ends behind each of the pages.
TEST(Kernel, TranslatedAccessRangesInAWindowAreExact) {
  constexpr u32 kShift = 17;
  for (const u32 before : {1u, 2u, 3u}) check_ranges((kDataAt + (u64{1} << kShift)) - before * kPageSize, kShift);
}

// Two accesses whose offsets from one register are so large that their sums are not: the first, at the end of what is
// mapped, must be asked for itself.
TEST(Kernel, TranslatedAccessesFarApartAreExact) {
  constexpr u64 kFar = 0x7ffffffffffffff8;
  for (const u32 first : {0xf86168a3u /* ldr x3, [x5, x1] */, 0xf82168a3u /* str x3, [x5, x1] */}) {
    const Words words = {
        0x92f00001,  // mov x1, #0x7fffffffffffffff
        0xd1001c21,  // sub x1, x1, #7
        0xd1400422,  // sub x2, x1, #4096
        first,
        0xf86268a8,  // ldr x8, [x5, x2]
        0x910020a5,  // add x5, x5, #8
        subs_imm(4, 4, 1),
    };
    const auto image = image_of(large_loop(words));
    const Build build = [&](u32 lane) {
      Machine machine;
      EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
      EXPECT_TRUE(machine.space->map(kDataAt, 4 * kPageSize, memory::kRead | memory::kWrite));
      machine.cpu.x[4] = 60;
      machine.cpu.x[5] = kDataAt + 4 * kPageSize - 200 - kFar + 8 * lane;
      machine.cpu.pc = kProgram;
      return machine;
    };
    retired_in_regions = 0;
    compare({.groups = 2}, {}, build, 100000, 7, large_region);
    EXPECT_GT(retired_in_regions, 100u);
  }
}
#endif

// What the loop for a crowd runs inline, beside branches.
constexpr isa::Row kInlineRows[] = {
#define KVRM_INLINE_ROW(row, first, choice) isa::Row::row,
#define KVRM_INLINE_WARM_ROW(row) isa::Row::row,
    KVRM_LONE_HOT_ROWS(KVRM_INLINE_ROW) KVRM_WARM_ROWS(KVRM_INLINE_WARM_ROW)
#undef KVRM_INLINE_ROW
#undef KVRM_INLINE_WARM_ROW
};

// A random word of the row that accesses the data at x20, if any, with x21 as an index, and writes x0 to x9.
u32 random_inline_word(Random& random, isa::Row row) {
  const isa::RowFacts& facts = isa::facts(row);
  const auto with = [&](u32 word, u32 at, u32 bits, u32 value) {
    const u32 field = ((1u << bits) - 1) << at;
    return facts.mask & field ? word : (word & ~field) | value << at;
  };
  for (;;) {
    u32 word = facts.bits | (u32(random()) & ~facts.mask);
    if (row == isa::Row::MRS) word = std::array{0xd53bd040u, 0xd53b4400u, 0xd53b4420u, 0xd53be040u}[below(random, 4)];
    if (row == isa::Row::SYS) return 0xd50b7434;  // dc zva, x20
    word = with(word, 0, 5, u32(below(random, 10)));
    if (facts.routing == isa::Class::kLoadStore) {
      const bool is_literal = facts.group == isa::Group::kLoadLiteral;
      word = is_literal ? with(word, 5, 19, u32(below(random, 30))) : with(word, 5, 5, RandomProgram::kData);
      if (facts.group == isa::Group::kLoadStorePair) word = with(word, 10, 5, 10 + u32(below(random, 4)));
      if (facts.group == isa::Group::kLoadStoreRegisterOffset) word = with(word, 16, 5, 21);
    }
    if (isa::decode(word) == row) return word;
  }
}

TEST(Kernel, RowsOfACrowdDoWhatTheyDoOnTheCpu) {
  for (u64 seed = 1; seed <= 60; ++seed) {
    const Build build = [=](u32 lane) {
      Random random(seed * 100 + lane);
      Words words;
      for (u32 i = 0; i < 60; ++i) {
        const isa::Row row = kInlineRows[below(random, std::size(kInlineRows))];
        if (isa::facts(row).flow == isa::Flow::kNext) words.push_back(random_inline_word(random, row));
      }
      words.push_back(hlt(0));
      Machine machine;
      const auto image = image_of(words);
      EXPECT_TRUE(machine.space->map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
      EXPECT_TRUE(machine.space->map(kDataAt, 16 * kPageSize, memory::kRead | memory::kWrite));
      for (u32 i = 0; i < 16; ++i) machine.cpu.x[i] = random() >> below(random, 64);
      for (U128& q : machine.cpu.q) q = {random(), random()};
      machine.cpu.x[RandomProgram::kData] =
          kDataAt + kPageSize + below(random, 2) * (kPageSize - 64) + below(random, 16);
      machine.cpu.x[RandomProgram::kData] &= below(random, 2) != 0 ? ~u64{15} : ~u64{0};
      machine.cpu.x[21] = below(random, 64);
      machine.cpu.pc = kProgram;
      return machine;
    };
    compare({.groups = 16}, {}, build, seed % 3 == 0 ? 20 : 100000, seed);
  }
}

// A network routes the words, once or whenever they run: the lanes end as the table's do on the CPU.
TEST(Kernel, NeuralDispatchMatchesTheTable) {
  const auto network = neural::make_dispatch_network(**built_in_weights("dispatch-embedding"));
  for (const bool every : {false, true}) {
    for (const auto mode : {dispatch::Mode::kTable, dispatch::Mode::kNeural, dispatch::Mode::kHybrid}) {
      dispatch::Counts counts{};
      const dispatch::Router router{mode, network.get(), &counts};
      for (const Code code : {Code::kShared, Code::kOwn, Code::kMixed}) {
        compare({.group_shift = 1, .router = router, .dispatch_every = every}, {}, random_machines(7, code, false),
                5000, 7);
      }
      u64 routed = 0, agreed = 0, asked = 0;
      for (u32 i = 0; i < dispatch::kClasses; ++i) {
        routed += counts.routed[i];
        agreed += counts.confusion[i][i];
        for (u32 j = 0; j < dispatch::kClasses; ++j) asked += counts.confusion[i][j];
      }
      EXPECT_GT(routed, 0u);
      EXPECT_EQ(asked, mode == dispatch::Mode::kHybrid ? routed : 0);
      EXPECT_EQ(agreed, asked);
    }
  }
}

// Each iteration of the loop runs an instruction that the one before has replaced: add x0, x0, #n, n counting up from
// something of the lane's own.
TEST(Kernel, LanesRunPrivateCodeAtTheSameAddress) {
  const Build build = [](u32 lane) {
    const Words words = {str_w(2, 3), add_imm(2, 2, 1024), kNop, subs_imm(4, 4, 1), b_ne(-4), hlt(0)};
    Machine machine;
    EXPECT_TRUE(machine.space->map(kProgram, kPageSize, 7));
    EXPECT_TRUE(machine.space->poke(kProgram, words.data(), words.size() * 4));
    machine.cpu.x[2] = add_imm(0, 0, 1 + lane);
    machine.cpu.x[3] = kProgram + 8;
    machine.cpu.x[4] = 5 + lane % 7;
    machine.cpu.pc = kProgram;
    return machine;
  };
  for (const u32 shift : {0u, 2u, 5u}) {
    for (const u64 budget : {7u, 10000u}) {
      compare({.group_shift = shift, .groups = 2}, {}, build, budget, budget);
    }
  }
}

// Code of the image that a lane has made writable and replaced, while its neighbors run the image's.
TEST(Kernel, ReplacedWordOfSharedCodeStaysPrivate) {
  const auto image = image_of({movz(0, 1), str_w(2, 3), movz(1, 1), hlt(0)});
  const Build build = [&](u32 lane) {
    Machine machine;
    const u32 writable = lane % 2 == 0 ? 7 : 5;  // the others fault
    EXPECT_TRUE(machine.space->map_image(kProgram, kPageSize, writable, image, 0));
    machine.cpu.x[2] = movz(1, 100 + lane);
    machine.cpu.x[3] = kProgram + 8;
    machine.cpu.pc = kProgram;
    return machine;
  };
  compare({.group_shift = 2}, {}, build, 100, 1);
}

// Lanes that see the same decoded words through windows of the same length but another start, as mprotect can make
// them.
TEST(Kernel, OverlappingWindowsMatchInterpreter) {
  Words words(4 * kPageSize / 4, kNop);
  words[kPageSize / 4] = subs_imm(4, 4, 1);
  words[kPageSize / 4 + 1] = b_ne(-1);
  words[2 * kPageSize / 4 - 1] = add_imm(1, 1, 1);
  words[3 * kPageSize / 4] = hlt(7);
  const auto image = image_of(words);
  const Build build = [&](u32 lane) {
    Machine machine;
    EXPECT_TRUE(machine.space->map_image(kProgram, 4 * kPageSize, 5, image, 0));
    // Two pages each: the first two, or the middle two.
    EXPECT_TRUE(machine.space->protect(kProgram + (lane % 2) * kPageSize, 2 * kPageSize, memory::kExecute));
    machine.cpu.x[4] = 10 + lane;
    machine.cpu.pc = kProgram + kPageSize;
    return machine;
  };
  compare({.group_shift = 2}, {.slice = 600}, build, 100000, 1);
}

TEST(Kernel, FetchFaultsArePrecise) {
  const auto image = image_of({br(1)});
  const Build build = [&](u32 lane) {
    Machine machine;
    EXPECT_TRUE(machine.space->map_image(kProgram, kPageSize, 5, image, 0));
    EXPECT_TRUE(machine.space->map(kDataAt, kPageSize, 3));
    const u64 targets[] = {0,       kProgram + 2, kDataAt,      u64{1} << 48,
                           ~u64{3}, kProgram + 4, u64{1} << 60, kProgram + kPageSize};
    machine.cpu.x[1] = targets[lane];
    machine.cpu.pc = kProgram;
    return machine;
  };
  compare({.group_shift = 3}, {}, build, 100, 1);
}

}  // namespace
}  // namespace kvrm::backend::test
