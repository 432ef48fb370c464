// Text for the compressors: lines of words and numbers, some of them repeated from before.
#ifndef KVRM_BENCH_TEXT_H
#define KVRM_BENCH_TEXT_H

#include <string.h>

#include "../bench.h"

static inline unsigned char* make_text_of(size_t size, uint64_t state) {
  static const char* const words[] = {"lane", "engine", "device", "region", "the",    "of",     "kernel",    "machine",
                                      "and",  "branch", "memory", "guest",  "a page", "signal", "translate", "budget"};
  unsigned char* text = allocate(size + 80);
  size_t length = 0;
  while (length < size) {
    uint32_t kind = random_next(&state) % 16;
    if (kind == 0 && length > 4096) {  // what stood somewhere before
      size_t count = 16 + random_next(&state) % 48;
      memcpy(text + length, text + random_next(&state) % (length - 64), count);
      length += count;
    } else if (kind == 1) {
      length += (size_t)sprintf((char*)text + length, "%u\n", random_next(&state) % 1000000);
    } else {
      length += (size_t)sprintf((char*)text + length, "%s ", words[random_next(&state) % 16]);
    }
  }
  return text;
}

static inline unsigned char* make_text(size_t size) { return make_text_of(size, 3); }

static inline uint64_t fold_bytes(uint64_t sum, const unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; i++) sum = fold(sum, bytes[i]);
  return sum;
}

static inline _Noreturn void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

#endif
