// What the benchmark guests share: a random stream and the way a checksum is printed.
// The programs use integers only and depend on nothing but the C library's printf and malloc.
#ifndef KVRM_BENCH_H
#define KVRM_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// A linear congruential generator; the high bits are the good ones.
static inline uint32_t random_next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

// One step of FNV-1a over a word, to fold many results into one.
static inline uint64_t fold(uint64_t sum, uint64_t word) { return (sum ^ word) * 1099511628211u; }

static inline int report(const char* name, uint64_t sum) {
  printf("%s %016llx\n", name, (unsigned long long)sum);
  return 0;
}

static inline void* allocate(size_t bytes) {
  void* block = malloc(bytes);
  if (!block) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return block;
}

#endif
