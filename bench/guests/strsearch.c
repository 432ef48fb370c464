// String search: the naive way and Horspool's, for words in a text of four letters.
#include "bench.h"

enum { kText = SIZE(1 << 20, 1 << 12), kPatterns = 12, kLetters = 4 };

typedef struct {
  const char* text;
  int length;
} String;

static uint64_t naive(String text, String pattern) {
  uint64_t sum = 0;
  for (int at = 0; at + pattern.length <= text.length; at++) {
    int i = 0;
    while (i < pattern.length && text.text[at + i] == pattern.text[i]) i++;
    if (i == pattern.length) sum = fold(sum, (uint64_t)at);
  }
  return sum;
}

static uint64_t horspool(String text, String pattern) {
  int skip[256];
  for (int i = 0; i < 256; i++) skip[i] = pattern.length;
  for (int i = 0; i < pattern.length - 1; i++) {
    skip[(unsigned char)pattern.text[i]] = pattern.length - 1 - i;
  }
  uint64_t sum = 0;
  for (int at = 0; at + pattern.length <= text.length;) {
    int i = pattern.length - 1;
    while (i >= 0 && text.text[at + i] == pattern.text[i]) i--;
    if (i < 0) sum = fold(sum, (uint64_t)at);
    at += skip[(unsigned char)text.text[at + pattern.length - 1]];
  }
  return sum;
}

int main(void) {
  char* letters = allocate(kText);
  uint64_t random = 6, sum = OWN();
  for (int i = 0; i < kText; i++) letters[i] = (char)("acgt"[random_next(&random) % kLetters] + (int)(OWN() >> 61));
  String text = {letters, kText};
  for (int i = 0, end = PASSES(kPatterns, kPatterns); i < end; i++) {
    int length = 3 + i % kPatterns;
    String pattern = {letters + random_next(&random) % (uint32_t)(kText - length), length};
    uint64_t slow = naive(text, pattern), fast = horspool(text, pattern);
    if (slow != fast) return 1;
    sum = fold(sum, slow);
  }
  return report("strsearch", sum);
}
