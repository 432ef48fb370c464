// loops KIND TRIPS ROUNDS: loops of one kind with so many trips, so many times (bench/loops.py). The compiler leaves
// them as they are written.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP                \
  __attribute__((noinline, optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns", "no-unroll-loops")))

LOOP static void fill(uint8_t* to, long count, int value) {
  for (long i = 0; i < count; i++) to[i] = (uint8_t)value;
}
LOOP static void copy(uint8_t* to, const uint8_t* from, long count) {
  for (long i = 0; i < count; i++) to[i] = from[i];
}
LOOP static long scan(const uint8_t* from) {
  const uint8_t* at = from;
  while (*at) at++;
  return at - from;
}
LOOP static uint64_t sum(const uint32_t* from, long count) {
  uint64_t all = 0;
  for (long i = 0; i < count; i++) all += from[i];
  return all;
}
LOOP static uint32_t dot(const uint32_t* a, const uint32_t* b, long count) {
  uint32_t all = 0;
  for (long i = 0; i < count; i++) all += a[i] * b[i];
  return all;
}
LOOP static void map(uint8_t* to, const uint8_t* from, const uint8_t* table, long count) {
  for (long i = 0; i < count; i++) to[i] = table[from[i]];
}
LOOP static uint64_t lcg(long count) {
  uint64_t x = 1;
  for (long i = 0; i < count; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}
LOOP static void counted(long count) {
  for (long i = 0; i < count; i++) __asm__ volatile("" : "+r"(i));
}

__attribute__((optimize("no-if-conversion", "no-if-conversion2", "no-tree-loop-if-convert")))
LOOP static uint64_t pick(const uint32_t* from, long count, uint32_t limit) {
  uint64_t all = 0;
  for (long i = 0; i < count; i++) {
    if (from[i] % 4 != limit) all += from[i];
  }
  return all;
}

enum { kBytes = 1 << 20 };
static uint8_t a[kBytes], b[kBytes], table[256];
static uint32_t u[kBytes / 4], v[kBytes / 4];

static uint64_t once(const char* kind, long trips, long round) {
  switch (kind[0] << 8 | kind[2]) {
    case 'f' << 8 | 'l': fill(a, trips, (int)round); return 0;
    case 'c' << 8 | 'p': copy(a, b, trips); return 0;
    case 's' << 8 | 'a': a[trips] = 0; return (uint64_t)scan(a);
    case 's' << 8 | 'm': return sum(u, trips);
    case 'd' << 8 | 't': return dot(u, v, trips);
    case 'm' << 8 | 'p': map(a, b, table, trips); return 0;
    case 'p' << 8 | 'c': return pick(u, trips, 1);
    case 'l' << 8 | 'g': return lcg(trips);
    case 'c' << 8 | 'u': counted(trips); return 0;
    // The C library's own, for so many bytes.
    case 'm' << 8 | 'm': memcpy(a, b, (size_t)trips); return 0;
    case 's' << 8 | 'r': a[trips] = 0; return strlen((char*)a);
    default: exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  const long trips = atol(argv[2]), rounds = atol(argv[3]);
  if (trips < 1 || trips >= kBytes / 4) return 1;
  memset(a, 1, sizeof(a));
  memset(b, 2, sizeof(b));
  for (int i = 0; i < 256; i++) table[i] = (uint8_t)(i * 7);
  for (uint32_t i = 0; i < kBytes / 4; i++) {
    u[i] = i;
    v[i] = i * 3;
  }
  uint64_t all = 0;
  for (long i = 0; i < rounds; i++) {
    all += once(argv[1], trips, i);
    __asm__ volatile("" ::: "memory");
  }
  for (long i = 0; i < trips; i++) all = all * 31 + a[i];
  printf("%llu\n", (unsigned long long)all);
  return 0;
}
