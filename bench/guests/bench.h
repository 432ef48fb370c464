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

// The same programs for many lanes at a time (-DKVRM_LANES, see bench/gpu.py): little memory, the amount of work and a
// number that makes a lane's data its own on stdin: "NUMBER PASSES". Where the program allows it, the number changes no
// branch, so that lanes stay together. A pass is about a million instructions.
#ifdef KVRM_LANES
#include <unistd.h>
typedef struct {
  uint64_t number;
  int passes;
} LaneInput;

static inline LaneInput lane_input(void) {
  static LaneInput input;
  if (input.passes) return input;
  char text[64];
  ssize_t size = read(0, text, sizeof text);
  uint64_t numbers[2] = {0, 0};
  for (ssize_t i = 0, which = 0; i < size && which < 2; i++) {
    if (text[i] == ' ')
      which++;
    else if (text[i] >= '0' && text[i] <= '9')
      numbers[which] = numbers[which] * 10 + (uint64_t)(text[i] - '0');
  }
  input.number = numbers[0] * 0x9e3779b97f4a7c15u;
  input.passes = numbers[1] ? (int)numbers[1] : 1;
  return input;
}
#define SIZE(fixed, lane) (lane)
#define PASSES(fixed, lane) ((int)(lane) * lane_input().passes)
#define OWN() (lane_input().number)
#else
#define SIZE(fixed, lane) (fixed)
#define PASSES(fixed, lane) (fixed)
#define OWN() UINT64_C(0)
#endif

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
