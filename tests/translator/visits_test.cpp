// Which regions do not pay, because lanes leave them too soon.
#include "translator/host/visits.h"

#include <gtest/gtest.h>

namespace kvrm::translator {
namespace {

void visit(Visits& visits, u64 region, u32 times, u64 steps) {
  for (u32 i = 0; i < times; ++i) {
    visits.enter(region);
    for (u64 step = 0; step < steps; ++step) visits.step(region);
  }
}

TEST(Visits, ShortOnesAreNoticedOnceThereAreEnough) {
  Visits visits;
  visit(visits, 0x1000, 15, 4);
  EXPECT_TRUE(visits.take_short().empty()) << "too few to judge by";
  visit(visits, 0x1000, 1, 4);
  visit(visits, 0x2000, 16, Visits::kWorthwhile);
  EXPECT_EQ(visits.take_short(), std::vector<u64>{0x1000});
  EXPECT_TRUE(visits.take_short().empty()) << "nothing was entered since";
}

TEST(Visits, TheMeanCounts) {
  Visits visits;
  visit(visits, 0x1000, 15, 1);
  visit(visits, 0x1000, 1, 1000);
  EXPECT_TRUE(visits.take_short().empty());
}

// Traces begin and end inside of regions.
TEST(Visits, PartsOfVisitsCount) {
  Visits visits;
  for (int i = 0; i < 500; ++i) visits.step(0x1000);
  visit(visits, 0x1000, 16, 1);
  EXPECT_TRUE(visits.take_short().empty());
  visit(visits, 0x1000, 32, 1);
  EXPECT_EQ(visits.take_short(), std::vector<u64>{0x1000});
}

}  // namespace
}  // namespace kvrm::translator
