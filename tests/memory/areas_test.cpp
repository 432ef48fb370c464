// The areas against a model that knows one page at a time.
#include "memory/freestanding/areas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace kvrm::memory {
namespace {

constexpr u64 kPages = 24;
constexpr u64 kFirst = 16;  // the model's first page; below it nothing is ever mapped

struct Page {
  u32 protection;
  u64 source;  // 0: zeros
  u64 image;
  u32 flags = 0;  // of kBackingFlags
  friend bool operator==(const Page&, const Page&) = default;
};
using Model = std::map<u64, Page>;  // by page number

bool is_source(const Page& page) { return page.image != 0 && page.flags == 0; }
u64 address_of(u64 page) { return page * kPageSize; }

class Pair {
 public:
  Pair() : storage_(64), areas_(storage_.data(), 0, 64) {}

  void map(u64 page, u64 count, u32 protection) {
    ASSERT_TRUE(areas_.map(address_of(page), address_of(count), protection));
    for (u64 i = 0; i < count; ++i) model_[page + i] = {protection, 0, 0};
  }
  void map_source(u64 page, u64 count, u32 protection, u64 source, u64 image) {
    ASSERT_TRUE(areas_.map_source(address_of(page), address_of(count), protection, source, image));
    for (u64 i = 0; i < count; ++i) model_[page + i] = {protection, source + address_of(i), image};
  }
  void map_backed(u64 page, u64 count, u32 protection, const Backing& backing) {
    ASSERT_TRUE(areas_.map_backed(address_of(page), address_of(count), protection, backing));
    const bool has_id = backing.flags & kAreaBacked;
    for (u64 i = 0; i < count; ++i)
      model_[page + i] = {protection, has_id ? backing.offset + address_of(i) : 0, has_id ? backing.id : 0,
                          backing.flags};
  }
  void unmap(u64 page, u64 count) {
    ASSERT_TRUE(areas_.unmap(address_of(page), address_of(count)));
    model_.erase(model_.lower_bound(page), model_.lower_bound(page + count));
  }
  void protect(u64 page, u64 count, u32 protection) {
    ASSERT_EQ(areas_.protect(address_of(page), address_of(count), protection), is_mapped(page, count));
    for (auto& [number, known] : model_)
      if (number >= page && number < page + count) known.protection = protection;
  }
  void move(u64 from, u64 from_count, u64 to, u64 to_count) {
    const bool apart = from >= to + to_count || to >= from + from_count;
    const bool expected = apart && is_mapped(from, from_count);
    ASSERT_EQ(areas_.may_move(address_of(from), address_of(from_count), address_of(to), address_of(to_count)),
              expected);
    if (!expected) return;
    areas_.move(address_of(from), address_of(from_count), address_of(to), address_of(to_count));
    model_.erase(model_.lower_bound(to), model_.lower_bound(to + to_count));
    const u64 kept = std::min(from_count, to_count);
    for (u64 i = 0; i < kept; ++i) model_[to + i] = model_.at(from + i);
    for (u64 i = kept; i < to_count; ++i) {  // the last area grows
      Page page = model_.at(to + i - 1);
      if (page.image != 0) page.source += kPageSize;
      model_[to + i] = page;
    }
    model_.erase(model_.lower_bound(from), model_.lower_bound(from + from_count));
  }

  bool is_mapped(u64 page, u64 count) const {
    for (u64 i = 0; i < count; ++i)
      if (!model_.contains(page + i)) return false;
    return true;
  }

  // The highest free range, found page by page.
  u64 find_free(u64 count, u64 floor, u64 limit) const {
    for (u64 page = limit - count; page >= floor && page + count >= count && page != ~u64{0}; --page) {
      auto next = model_.lower_bound(page);
      if (next == model_.end() || next->first >= page + count) return address_of(page);
    }
    return kNoRoom;
  }

  void check(std::mt19937_64& random) const {
    u64 pages = 0;
    for (u32 i = 0; i < areas_.count(); ++i) {
      const Area& area = areas_[i];
      ASSERT_LT(area.start, area.end);
      if (i != 0) {
        ASSERT_LE(areas_[i - 1].end, area.start);
      }
      for (u64 at = area.start; at < area.end; at += kPageSize, ++pages) {
        const auto known = model_.find(at / kPageSize);
        ASSERT_NE(known, model_.end());
        const bool shows = area.flags & (kAreaSource | kAreaBacked);
        const Page page{area.protection, shows ? area.source + (at - area.start) : 0, area.image,
                        area.flags & kBackingFlags};
        ASSERT_EQ(page, known->second);
        ASSERT_EQ(areas_.find(at + random() % kPageSize), &areas_[i]);
      }
    }
    ASSERT_EQ(pages, model_.size());
    const u64 page = random() % kPages + kFirst, count = 1 + random() % 6;
    ASSERT_EQ(areas_.is_mapped(address_of(page), address_of(count)), is_mapped(page, count));
    auto next = model_.lower_bound(page);
    ASSERT_EQ(areas_.is_free(address_of(page), address_of(count)), next == model_.end() || next->first >= page + count);
    if (!model_.contains(page)) {
      ASSERT_EQ(areas_.find(address_of(page)), nullptr);
    }
    const u64 floor = random() % kPages, limit = floor + count + random() % (2 * kPages);
    ASSERT_EQ(areas_.find_free(address_of(count), address_of(floor), address_of(limit)),
              find_free(count, floor, limit));
    bool source = false;
    for (auto& [number, known] : model_) source |= number >= page && number < page + count && is_source(known);
    ASSERT_EQ(areas_.has_source(address_of(page), address_of(count)), source);
    const Area* after = areas_.next(address_of(page));
    next = model_.lower_bound(page);
    ASSERT_EQ(after != nullptr, next != model_.end());
    if (after) {
      ASSERT_LE(after->start, address_of(next->first));
      ASSERT_GT(after->end, address_of(next->first));
    }
  }

 private:
  std::vector<Area> storage_;
  Areas areas_;
  Model model_;
};

TEST(Areas, AgreeWithAModelOfPages) {
  for (u64 seed = 0; seed < 300; ++seed) {
    Pair pair;
    std::mt19937_64 random(seed);
    for (int step = 0; step < 200; ++step) {
      const u64 page = kFirst + random() % kPages, count = 1 + random() % 6;
      const u64 other = kFirst + random() % kPages, other_count = 1 + random() % 6;
      const u32 protection = static_cast<u32>(random() % 4);
      switch (random() % 7) {
        case 0:
        case 1: pair.map(page, count, protection); break;
        case 2: pair.map_source(page, count, protection, address_of(100 + random() % 100), 1 + random() % 3); break;
        case 3: pair.unmap(page, count); break;
        case 5: {
          const u32 flags = static_cast<u32>(random()) & kBackingFlags;
          pair.map_backed(page, count, protection, {flags, 1 + random() % 3, address_of(random() % 100)});
          break;
        }
        case 4: pair.protect(page, count, protection); break;
        default: pair.move(page, count, other, other_count); break;
      }
      pair.check(random);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
  }
}

TEST(Areas, NeighborsOfZerosBecomeOneFromBelowOnly) {
  Area storage[16];
  Areas areas(storage, 0, 16);
  ASSERT_TRUE(areas.map(0x10000, 0x1000, kRead));
  ASSERT_TRUE(areas.map(0x11000, 0x1000, kRead));
  EXPECT_EQ(areas.count(), 1u);
  ASSERT_TRUE(areas.map(0xf000, 0x1000, kRead));  // below: as it always was, a second area
  EXPECT_EQ(areas.count(), 2u);
  ASSERT_TRUE(areas.map(0x12000, 0x1000, kWrite));
  EXPECT_EQ(areas.count(), 3u);
  ASSERT_TRUE(areas.map_source(0x13000, 0x1000, kWrite, 0x5000, 1));
  ASSERT_TRUE(areas.map(0x14000, 0x1000, kWrite));
  EXPECT_EQ(areas.count(), 5u);
}

// An operation that lacks storage changes nothing, and can be made again in larger storage.
TEST(Areas, FullStorageIsNoticedBeforeAnythingChanges) {
  Area small[4];
  Areas areas(small, 0, 4);
  ASSERT_TRUE(areas.map(0x10000, 0x4000, kRead));
  ASSERT_TRUE(areas.has_room());
  ASSERT_TRUE(areas.unmap(0x11000, 0x1000));
  ASSERT_FALSE(areas.has_room());
  EXPECT_FALSE(areas.map(0x20000, 0x1000, kRead));
  EXPECT_FALSE(areas.unmap(0x10000, 0x1000));
  EXPECT_FALSE(areas.protect(0x12000, 0x1000, kWrite));
  ASSERT_EQ(areas.count(), 2u);
  EXPECT_EQ(areas[1].end, 0x14000u);
  Area large[8];
  areas.move_to(large, 8);
  areas.move(0x12000, 0x1000, 0x30000, 0x1000);
  ASSERT_EQ(areas.count(), 3u);
  EXPECT_EQ(areas[2].start, 0x30000u);
}

// A caller that moves areas moves pages as well: to go on without the areas would be worse than to stop.
TEST(AreasDeathTest, AMoveThatWasNotAskedForStops) {
  Area storage[4];
  Areas areas(storage, 0, 4);
  ASSERT_TRUE(areas.map(0x10000, 0x4000, kRead));
  EXPECT_DEATH(areas.move(0x10000, 0x5000, 0x30000, 0x5000), "");  // a hole
  EXPECT_DEATH(areas.move(0x10000, 0x2000, 0x11000, 0x2000), "");  // they overlap
  ASSERT_TRUE(areas.unmap(0x11000, 0x1000));
  ASSERT_FALSE(areas.has_room());
  EXPECT_DEATH(areas.move(0x12000, 0x1000, 0x30000, 0x1000), "");  // no storage
}

}  // namespace
}  // namespace kvrm::memory
