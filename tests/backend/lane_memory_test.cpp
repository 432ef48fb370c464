// The memory of lanes in groups: pools, limits, and every call against the host's address space.
#include "memory/freestanding/lane_memory_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "lane_guest_memory.h"
#include "operations.h"
#include "simulated_device.h"

namespace kvrm::backend::test {
namespace {

using memory::AddressSpace;
using memory::kPageSize;
using memory::kRead;
using memory::kWrite;
using memory::SlabPool;

// The lanes of one group, with memories of their own.
class LaneGroup {
 public:
  LaneGroup(SimulatedWorld& world, u32 group, u32 page_limit)
      : lanes_(1u << world.world().group_shift), areas_(lanes_ * kAreas), spaces_(lanes_) {
    for (u32 i = 0; i < lanes_; ++i) {
      spaces_[i] = {&world.world(),
                    world.directories() + group * memory::directory_words(world.world().directory_slots),
                    memory::Areas(areas_.data() + u64{i} * kAreas, 0, kAreas),
                    i,
                    page_limit,
                    0,
                    0,
                    {},
                    world.world().windows.of(group)};
      memories_.push_back(std::make_unique<LaneGuestMemory>(spaces_[i]));
    }
  }
  LaneGuestMemory& operator[](u32 lane) { return *memories_[lane]; }
  memory::LaneSpace& space(u32 lane) { return spaces_[lane]; }

 private:
  static constexpr u32 kAreas = 64;
  const u32 lanes_;
  std::vector<memory::Area> areas_;
  std::vector<memory::LaneSpace> spaces_;
  std::vector<std::unique_ptr<LaneGuestMemory>> memories_;
};

TEST(LaneMemory, RandomCallsMatchAnAddressSpace) {
  for (u64 seed = 1; seed <= 16; ++seed) {
    const u32 shift = u32(seed % 4), lanes = 1u << shift;
    SimulatedWorld world({.group_shift = shift,
                          .groups = 1,
                          .frames = 256,
                          .tables = 16,
                          .directory_slots = 4,
                          .window_shift = shift == 0 && seed % 8 != 0 ? 17u : 0u});
    LaneGroup group(world, 0, 1000);
    std::vector<std::unique_ptr<AddressSpace>> mirrors;
    std::vector<Random> here, there;
    for (u32 i = 0; i < lanes; ++i) {
      mirrors.push_back(std::make_unique<AddressSpace>(u64{8} << 20));
      here.emplace_back(seed * 100 + i);
      there.emplace_back(seed * 100 + i);
    }
    Random random(seed);
    for (u32 step = 0; step < 1200; ++step) {
      const u32 lane = u32(below(random, lanes));
      ASSERT_EQ(random_operation(there[lane], group[lane], 20000), random_operation(here[lane], *mirrors[lane], 20000))
          << "seed " << seed << " step " << step;
      if (step % 64 == 0) {
        ASSERT_EQ(test::describe(group[lane]), test::describe(*mirrors[lane])) << "seed " << seed << " step " << step;
      }
    }
    u32 owned = 0;
    for (u32 i = 0; i < lanes; ++i) {
      EXPECT_EQ(test::describe(group[i]), test::describe(*mirrors[i])) << i;
      owned += group.space(i).private_pages;
    }
    if (world.world().windows.shift == 0) EXPECT_LE(world.frames_in_use(), owned);  // windows have copies, too
    for (u32 i = 0; i < lanes; ++i) {
      group[i].lane().clear();
      EXPECT_EQ(group.space(i).private_pages, 0u);
    }
    EXPECT_EQ(world.frames_in_use(), 0u);
  }
}

TEST(LaneMemory, LimitsOfLaneAndPoolHold) {
  SimulatedWorld world({.group_shift = 1, .groups = 2, .frames = 6, .tables = 8, .directory_slots = 4});
  LaneGroup first(world, 0, 4), second(world, 1, 4);
  u64 value = 7;
  for (auto* memory : {&first[0], &first[1], &second[0]})
    ASSERT_TRUE(memory->map(kBase, 16 * kPageSize, kRead | kWrite));
  const auto store = [&](LaneGuestMemory& memory, u64 page) {
    return memory.lane().write_slow(kBase + page * kPageSize, &value, sizeof value).trap;
  };
  for (u64 page = 0; page < 4; ++page) EXPECT_EQ(store(first[0], page), Trap::kNone);
  EXPECT_EQ(store(first[0], 4), Trap::kOutOfMemory);
  EXPECT_EQ(store(first[0], 3), Trap::kNone);
  // Another lane of the group has its copies in the same frames.
  for (u64 page = 0; page < 4; ++page) EXPECT_EQ(store(first[1], page), Trap::kNone);
  EXPECT_EQ(world.frames_in_use(), 4u);
  // Another group needs others, and there are two.
  EXPECT_EQ(store(second[0], 0), Trap::kNone);
  EXPECT_EQ(store(second[0], 9), Trap::kNone);
  EXPECT_EQ(store(second[0], 1), Trap::kOutOfMemory);
  EXPECT_FALSE(second[0].poke(kBase + kPageSize, &value, sizeof value));
  u64 seen = 1;
  EXPECT_TRUE(second[0].read(kBase + kPageSize, &seen, sizeof seen));
  EXPECT_EQ(seen, 0u);

  // A frame goes back with its last owner, and comes back clean.
  first[0].unmap(kBase, 2 * kPageSize);
  EXPECT_EQ(world.frames_in_use(), 6u);
  EXPECT_EQ(store(second[0], 1), Trap::kOutOfMemory);
  EXPECT_TRUE(first[1].discard(kBase, kPageSize));
  EXPECT_EQ(world.frames_in_use(), 5u);
  EXPECT_EQ(store(second[0], 1), Trap::kNone);
  EXPECT_EQ(world.frames_in_use(), 6u);
  std::vector<u64> page(kPageSize / 8);
  ASSERT_TRUE(second[0].read(kBase + kPageSize, page.data(), kPageSize));
  EXPECT_EQ(page[0], 7u);
  EXPECT_EQ(std::count(page.begin(), page.end(), 0), i64(page.size()) - 1);
}

TEST(LaneMemory, MoveWithoutMemoryChangesNothing) {
  SimulatedWorld world({.group_shift = 1, .groups = 1, .frames = 3, .tables = 8, .directory_slots = 4});
  LaneGroup group(world, 0, 10);
  const u64 mine = 1, theirs = 2, there = kBase + 100 * kPageSize;
  for (u32 lane = 0; lane < 2; ++lane) ASSERT_TRUE(group[lane].map(kBase, 2 * kPageSize, kRead | kWrite));
  for (u64 page = 0; page < 2; ++page) {
    ASSERT_TRUE(group[0].write(kBase + page * kPageSize, &mine, sizeof mine));
    ASSERT_TRUE(group[1].write(kBase + page * kPageSize, &theirs, sizeof theirs));
  }
  const std::string before = test::describe(group[0]);
  EXPECT_FALSE(group[0].move(kBase, 2 * kPageSize, there, 2 * kPageSize));  // one frame is left for two pages
  EXPECT_EQ(test::describe(group[0]), before);
  EXPECT_EQ(group.space(0).private_pages, 2u);
  EXPECT_EQ(world.frames_in_use(), 2u);
  EXPECT_TRUE(group[0].move(kBase, kPageSize, there, kPageSize));
  u64 seen = 0;
  EXPECT_TRUE(group[0].read(there, &seen, sizeof seen));
  EXPECT_EQ(seen, mine);
  EXPECT_TRUE(group[1].read(kBase, &seen, sizeof seen));
  EXPECT_EQ(seen, theirs);
}

// A lane that is alone in its group moves what it has even when there is nothing left.
TEST(LaneMemory, MoveOfAllMemoryWorks) {
  SimulatedWorld world({.group_shift = 0, .groups = 1, .frames = 2, .tables = 8, .directory_slots = 4});
  LaneGroup group(world, 0, 2);
  const u64 there = kBase + 100 * kPageSize;
  ASSERT_TRUE(group[0].map(kBase, 3 * kPageSize, kRead | kWrite));
  for (u64 page = 0; page < 2; ++page) ASSERT_TRUE(group[0].write(kBase + page * kPageSize, &page, sizeof page));
  EXPECT_TRUE(group[0].move(kBase, 3 * kPageSize, there, 3 * kPageSize));
  for (u64 page = 0; page < 2; ++page) {
    u64 seen = 9;
    EXPECT_TRUE(group[0].read(there + page * kPageSize, &seen, sizeof seen));
    EXPECT_EQ(seen, page);
  }
  EXPECT_EQ(group.space(0).private_pages, 2u);
  EXPECT_TRUE(group[0].unmap(there, 3 * kPageSize));
  EXPECT_EQ(world.frames_in_use(), 0u);
}

TEST(LaneMemory, FullListOfAreasIsAnError) {
  SimulatedWorld world({.group_shift = 0, .groups = 1, .frames = 8, .tables = 8, .directory_slots = 4});
  LaneGroup group(world, 0, 8);
  u64 at = kBase;
  while (group[0].map(at, 3 * kPageSize, kRead)) at += 4 * kPageSize;
  const std::string full = test::describe(group[0]);
  EXPECT_FALSE(group[0].unmap(kBase + kPageSize, kPageSize));
  EXPECT_FALSE(group[0].move(kBase, kPageSize, at, kPageSize));
  EXPECT_EQ(test::describe(group[0]), full);
}

TEST(LaneMemory, NoTablesIsOutOfMemory) {
  SimulatedWorld world({.group_shift = 0, .groups = 1, .frames = 8, .tables = 2, .directory_slots = 4});
  LaneGroup group(world, 0, 8);
  const u64 far = u64{memory::kTablePages} * kPageSize;
  ASSERT_TRUE(group[0].map(0, 8 * far, kRead | kWrite));
  u64 value = 3;
  EXPECT_EQ(group[0].lane().write_slow(0, &value, 8).trap, Trap::kNone);
  EXPECT_EQ(group[0].lane().write_slow(3 * far, &value, 8).trap, Trap::kNone);
  EXPECT_EQ(group[0].lane().write_slow(5 * far, &value, 8).trap, Trap::kOutOfMemory);
  EXPECT_EQ(group[0].lane().read_slow(6 * far, &value, 8).trap, Trap::kOutOfMemory);
  group[0].unmap(0, 8 * far);
  EXPECT_EQ(world.frames_in_use(), 0u);
}

// Accesses that lie across words, against plain bytes. Each lane of a group has three pages; what is written to the one
// in the middle must be there, and nothing else may change, in no page and for no lane.
class AcrossWords {
 public:
  explicit AcrossWords(u32 group_shift)
      : world_({.group_shift = group_shift, .groups = 1, .frames = 8, .tables = 4, .directory_slots = 4}),
        group_(world_, 0, 8),
        random_(group_shift + 1) {
    for (u32 lane = 0; lane < 1u << group_shift; ++lane) {
      bytes_.emplace_back(kPages * kPageSize);
      for (u8& byte : bytes_.back()) byte = u8(random_());
      EXPECT_TRUE(group_[lane].map(kBase, kPages * kPageSize, kRead | kWrite));
      EXPECT_TRUE(group_[lane].write(kBase, bytes_.back().data(), kPages * kPageSize));
      const auto found = group_[lane].lane().resolve(kBase + kPageSize, Access::kWrite);
      EXPECT_EQ(found.trap, Trap::kNone);
      EXPECT_EQ(found.page & 7, group_shift);
      pages_.push_back(found.page);
    }
  }

  // What fits at the offset is read.
  void load(u64 offset, u32 size) {
    if (offset + size > kPageSize) return;
    const u32 lane = next_lane();
    const u64 value = memory::detail::get_across(pages_[lane], offset, size);
    const u8* const here = bytes_[lane].data() + kPageSize + offset;
    ASSERT_EQ(std::memcmp(&value, here, size), 0) << size << " bytes from " << offset;
  }
  void store(u64 offset, u32 size) {
    if (offset + size > kPageSize) return;
    const u32 lane = next_lane();
    const u64 value = random_();
    std::memcpy(bytes_[lane].data() + kPageSize + offset, &value, size);
    memory::detail::put_across(pages_[lane], offset, value, size);
    ASSERT_TRUE(is_right()) << size << " bytes at " << offset;
  }

 private:
  static constexpr u64 kPages = 3;

  u32 next_lane() { return u32(below(random_, pages_.size())); }
  bool is_right() {
    std::vector<u8> now(kPages * kPageSize);
    for (u32 lane = 0; lane < pages_.size(); ++lane) {
      if (!group_[lane].read(kBase, now.data(), now.size()) || now != bytes_[lane]) return false;
    }
    return true;
  }

  SimulatedWorld world_;
  LaneGroup group_;
  Random random_;
  std::vector<std::vector<u8>> bytes_;  // of each lane
  std::vector<u64> pages_;  // the one in the middle, as in an entry
};

TEST(LaneMemory, AccessesAcrossWordsAreExact) {
  for (const u32 shift : {0u, 1u, 3u, 5u}) {
    SCOPED_TRACE(testing::Message() << "groups of " << (1u << shift));
    AcrossWords lanes(shift);
    const auto all_sizes = [&](u64 offset) {
      for (const u32 size : {2u, 4u, 8u}) {
        lanes.load(offset, size);
        lanes.store(offset, size);
      }
    };
    // The first words, some in the middle, and the last ones.
    for (u64 offset = 0; offset < 17; ++offset) all_sizes(offset);
    for (u64 offset = 2040; offset < 2057; ++offset) all_sizes(offset);
    for (u64 offset = kPageSize - 72; offset < kPageSize; ++offset) all_sizes(offset);
  }
}

// Lanes of two groups on threads: pages are allocated and released concurrently, and no lane sees another's bytes.
TEST(LaneMemory, PagesOfNeighborsStayApart) {
  constexpr u32 kShift = 2, kGroups = 2, kSteps = 4000;
  SimulatedWorld world({.group_shift = kShift, .groups = kGroups, .frames = 9, .tables = 12, .directory_slots = 8});
  std::vector<std::unique_ptr<LaneGroup>> groups;
  for (u32 i = 0; i < kGroups; ++i) groups.push_back(std::make_unique<LaneGroup>(world, i, 100));
  std::atomic<u32> wrong = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (u32 i = 0; i < kGroups << kShift; ++i) {
      threads.emplace_back([&, i] {
        LaneGuestMemory& memory = (*groups[i >> kShift])[i & ((1u << kShift) - 1)];
        Random random(i);
        constexpr u64 kSpread = 6;  // pages, in different tables
        const auto address = [](u64 page) { return kBase + page * 70 * kPageSize; };
        u64 holds[kSpread] = {};
        for (u64 page = 0; page < kSpread; ++page) wrong += !memory.map(address(page), kPageSize, kRead | kWrite);
        for (u64 step = 1; step <= kSteps; ++step) {
          const u64 page = below(random, kSpread);
          u64 words[kPageSize / 8] = {};
          wrong += !memory.read(address(page), words, sizeof words);
          for (const u64 word : words) wrong += word != holds[page];
          if (below(random, 2) == 0) {
            wrong += !memory.discard(address(page), kPageSize);
            holds[page] = 0;
          } else {
            const u64 value = step << 8 | i;
            for (u64& word : words) word = value;
            if (memory.write(address(page), words, sizeof words)) {
              holds[page] = value;
            } else {
              ++refused;  // the pool is empty; nothing has changed
            }
          }
        }
        memory.lane().clear();
      });
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(world.frames_in_use(), 0u);
}

// Two lanes with one page: the last owner leaves while the other comes.
TEST(LaneMemory, PageIsAllocatedWhileTheLastIsReleased) {
  SimulatedWorld world({.group_shift = 1, .groups = 1, .frames = 4, .tables = 2, .directory_slots = 2});
  LaneGroup group(world, 0, 2);
  std::atomic<u32> wrong = 0, ready = 0;
  {
    std::vector<std::jthread> threads;
    for (u32 i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        LaneGuestMemory& memory = group[i];
        wrong += !memory.map(kBase, kPageSize, kRead | kWrite);
        ++ready;
        while (ready.load() != 2) std::this_thread::yield();
        for (u64 step = 1; step <= 100000; ++step) {
          u64 seen = 0;
          wrong += !memory.write(kBase + 8, &step, sizeof step) || !memory.read(kBase + 8, &seen, sizeof seen);
          wrong += seen != step || !memory.discard(kBase, kPageSize);
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(world.frames_in_use(), 0u);
  EXPECT_LE(world.world().frames.handed_out, 2u);
}

TEST(SlabPool, ConcurrentAllocationAndReleaseKeepPiecesApart) {
  constexpr u32 kCount = 5, kThreads = 4;
  std::vector<u32> next(kCount);
  std::vector<u64> pieces(kCount * 2);
  SlabPool pool{reinterpret_cast<u8*>(pieces.data()), 16, kCount, 0, 0, next.data(), 0};
  std::atomic<u32> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (u32 i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Random random(i);
        std::vector<u32> mine;
        for (u64 step = 0; step < 20000; ++step) {
          if (below(random, 2) == 0 && !mine.empty()) {
            u64* const piece = reinterpret_cast<u64*>(pool.at(mine.back()));
            wrong += *piece != i + 1;
            *piece = 0;
            pool.release(mine.back());
            mine.pop_back();
          } else if (mine.size() < 3) {
            const u32 index = pool.allocate();
            if (index == SlabPool::kNone) continue;
            u64* const piece = reinterpret_cast<u64*>(pool.at(index));
            wrong += *piece != 0 || pool.index_of(pool.at(index)) != index;
            *piece = i + 1;
            mine.push_back(index);
          }
        }
        for (const u32 index : mine) {
          *reinterpret_cast<u64*>(pool.at(index)) = 0;
          pool.release(index);
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(pool.in_use, 0u);
  for (u32 i = 0; i < kCount; ++i) EXPECT_NE(pool.allocate(), SlabPool::kNone);
  EXPECT_EQ(pool.allocate(), SlabPool::kNone);
  EXPECT_EQ(pool.allocate(), SlabPool::kNone);
}

}  // namespace
}  // namespace kvrm::backend::test
