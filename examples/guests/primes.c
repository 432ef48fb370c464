// Counts primes with a sieve: the demo's guest, an ordinary C program.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const unsigned limit = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000000;
  unsigned char* composite = calloc((size_t)limit + 1, 1);
  if (composite == NULL) {
    fprintf(stderr, "primes: no memory for %u\n", limit);
    return 1;
  }
  unsigned count = 0;
  unsigned last = 0;
  for (unsigned i = 2; i <= limit; ++i) {
    if (composite[i]) continue;
    ++count;
    last = i;
    for (unsigned long j = (unsigned long)i * i; j <= limit; j += i) composite[j] = 1;
  }
  printf("%u primes up to %u, the last is %u\n", count, limit, last);
  free(composite);
  return 0;
}
