// What the numeric guests share: numbers from the random stream, and checksums of a result's bits.
// Built without contraction, so that every build rounds in the same places and prints the same bits.
#ifndef KVRM_BENCH_NUMERIC_H
#define KVRM_BENCH_NUMERIC_H

#include <string.h>

#include "../bench.h"

// In [0, 1), with 32 random bits.
static inline double random_unit(uint64_t* state) { return random_next(state) * 0x1p-32; }

static inline uint64_t fold_double(uint64_t sum, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return fold(sum, bits);
}

static inline uint64_t fold_float(uint64_t sum, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return fold(sum, bits);
}

// The checksum, and one figure for a reader.
static inline int report_numeric(const char* name, uint64_t sum, double figure) {
  printf("%s %016llx %.12g\n", name, (unsigned long long)sum, figure);
  return 0;
}

#endif
