// How well names are found, beside the baselines: exact code, the first 16 words, 3-grams of rows.
#pragma once

#include <vector>

#include "symbols/image.h"
#include "symbols/index.h"
#include "symbols/match.h"

namespace kvrm::symbols {

struct Score {
  u64 routines = 0, top1 = 0;
  u64 exact = 0, exact_top1 = 0;
  u64 unlike = 0, unlike_top1 = 0;  // no known routine has the same sequence of rows
  u64 by_exact = 0, by_head = 0, by_rows = 0;
  u64 named = 0, named_right = 0;
  u64 absent = 0, absent_named = 0;
};

// One routine that was asked about: its number, whether its name is unknown to the index, and its match.
struct Case {
  u32 routine;
  bool absent, right;
  u32 length;
  Match match;
};
struct Evaluation {
  std::vector<Score> scores;  // of each library of `asked`
  std::vector<Case> cases;
};

struct Limits {
  double threshold;
  u32 shortest;  // in ops
};

// Object files in an order that says nothing, as when another program links them. The same each time.
Image shuffled(const Image& image);

Evaluation evaluate(const Image& known, const Index& index, const Image& asked, u32 libraries, Limits limits);

}  // namespace kvrm::symbols
