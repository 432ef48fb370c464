// The sieve of Eratosthenes over odd numbers, one byte each.
#include "bench.h"

enum { kLimit = SIZE(16000000, 64000) };

static uint64_t sieve(uint8_t* composite, int limit, uint8_t mark) {
  int half = limit / 2;  // composite[i] stands for 2i + 1
  for (int i = 0; i < half; i++) composite[i] = 0;
  uint64_t sum = 2;
  for (int i = 1; i < half; i++) {
    if (composite[i]) continue;
    int prime = 2 * i + 1;
    sum = fold(sum, (uint64_t)prime);
    if (prime > limit / prime) continue;
    for (int j = prime * prime / 2; j < half; j += prime) composite[j] = mark;
  }
  return sum;
}

int main(void) {
  uint8_t* composite = allocate(kLimit / 2);
  uint64_t sum = OWN();
  const int passes = PASSES(4, 2);
  const uint8_t mark = 1 | OWN() >> 56;
  for (int pass = 0; pass < passes; pass++) sum = fold(sum, sieve(composite, kLimit - 2 * pass, mark));
  return report("sieve", sum);
}
