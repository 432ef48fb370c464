// What the programs with more memory than a cache share.
#ifndef KVRM_BENCH_WORKLOAD_H
#define KVRM_BENCH_WORKLOAD_H

#include "../bench.h"

// The numbers below `count` in random order.
static inline void shuffle(uint32_t* order, uint32_t count, uint64_t* random) {
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  for (uint32_t i = count; i-- > 1;) {
    uint32_t j = (uint32_t)((uint64_t)random_next(random) * (i + 1) >> 32), other = order[i];
    order[i] = order[j];
    order[j] = other;
  }
}

#endif
