// Words of a row: fields random, edge values favored.
#pragma once

#include <cstdint>
#include <vector>

#include "random.h"
#include "table.h"

namespace kvrm::oracle {

// One word of the row; it may be one that the row's condition or a rule refuses.
uint32_t draft_word(Random& random, const Row& row);

// Up to `count` different words that the row accepts and no rule refuses. Fewer only if fewer exist, or
// they are so rare among the drafts that a long search finds no more.
std::vector<uint32_t> words_of(const Row& row, unsigned count, uint64_t seed);

}  // namespace kvrm::oracle
