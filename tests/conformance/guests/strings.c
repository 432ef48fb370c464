// The C library's memory and string functions at all small sizes and alignments, against plain
// loops. They are the vector code that every static program runs.
#include "guest.h"

#include <wchar.h>

enum { kMost = 160, kRoom = 512 };

static unsigned char left[kRoom] __attribute__((aligned(64))), right[kRoom] __attribute__((aligned(64)));
static unsigned char expected[kRoom];
static uint64_t random_state = 1, sum;

static void mix(long value) { sum = (sum ^ (uint64_t)value) * 1099511628211u; }

static void scramble(unsigned char* bytes) {
  for (int i = 0; i < kRoom; i++) bytes[i] = (unsigned char)(random_next(&random_state) | 1);
}

static int sign(int value) { return (value > 0) - (value < 0); }

static void copies(int from, int to, int n) {
  scramble(left);
  scramble(right);
  for (int i = 0; i < kRoom; i++) expected[i] = i >= to && i < to + n ? left[from + i - to] : right[i];
  memcpy(right + to, left + from, (size_t)n);
  REQUIRE(memcmp(right, expected, kRoom) == 0);
  for (int i = 0; i < kRoom; i++) expected[i] = i >= to && i < to + n ? right[from + i - to] : right[i];
  memmove(right + to, right + from, (size_t)n);
  for (int i = 0; i < kRoom; i++) REQUIRE(right[i] == expected[i]);
  memset(right + to, 0xa5, (size_t)n);
  for (int i = 0; i < kRoom; i++) REQUIRE(right[i] == (i >= to && i < to + n ? 0xa5 : expected[i]));
  memset(right + to, 0, (size_t)n);
  for (int i = to; i < to + n; i++) REQUIRE(right[i] == 0);
}

static void searches(int at, int n) {
  scramble(left);
  unsigned char* text = left + at;
  text[n] = 0;
  REQUIRE(strlen((char*)text) == (size_t)n);
  REQUIRE(strnlen((char*)text, 40) == (size_t)(n < 40 ? n : 40));
  REQUIRE(rawmemchr(text, 0) == text + n);
  for (int i = 0; i < n; i++) text[i] = (unsigned char)(text[i] == 'x' || text[i] == 'y' ? 'z' : text[i]);
  if (n > 2) {
    text[n / 2] = 'x';
    text[n - 1] = 'x';
    REQUIRE(strchr((char*)text, 'x') == (char*)text + n / 2);
    REQUIRE(memchr(text, 'x', (size_t)n) == text + n / 2);
    REQUIRE(strrchr((char*)text, 'x') == (char*)text + n - 1);
    REQUIRE(memrchr(text, 'x', (size_t)n) == text + n - 1);
    REQUIRE(strcspn((char*)text, "xy") == (size_t)(n / 2));
  }
  REQUIRE(strchr((char*)text, 'y') == NULL);
  REQUIRE(strchrnul((char*)text, 'y') == (char*)text + n);
  REQUIRE(memchr(text, 'y', (size_t)n) == NULL);
}

static void comparisons(int at, int other, int n) {
  scramble(left);
  memcpy(right + other, left + at, (size_t)n);
  left[at + n] = right[other + n] = 0;
  REQUIRE(memcmp(left + at, right + other, (size_t)n) == 0);
  REQUIRE(strcmp((char*)left + at, (char*)right + other) == 0);
  if (n == 0) return;
  int place = (int)(random_next(&random_state) % (uint32_t)n);
  right[other + place] = (unsigned char)(random_next(&random_state) | 1);
  int order = sign(left[at + place] - right[other + place]);
  REQUIRE(sign(memcmp(left + at, right + other, (size_t)n)) == order);
  REQUIRE(sign(strcmp((char*)left + at, (char*)right + other)) == order);
  REQUIRE(sign(strncmp((char*)left + at, (char*)right + other, (size_t)place)) == 0);
  mix(order);
}

static void others(void) {
  char text[64] = "one,two;;three";
  for (char* word = strtok(text, ",;"); word; word = strtok(NULL, ",;")) printf("%s\n", word);
  printf("%s\n", strstr("a needle in the haystack with a needles", "needles"));
  printf("%ld %lu %ld\n", strtol("-0x7fff", NULL, 16), strtoul("777", NULL, 8), strtol("99z", NULL, 10));
  char big[100];
  strcpy(stpcpy(big, "left"), "right");
  strcat(big, " and");
  printf("%s %d\n", big, snprintf(big + 50, 20, "%s", "fits"));
  printf("%5d|%-8s|%08lx|%+d|%c|%#o|%.3s|%*d\n", 42, "abc", 0xbeefUL, 7, 'q', 8, "abcdef", 6, -3);
  printf("%ld\n", (long)wcslen(L"wide"));
}

int main(void) {
  for (int n = 0; n <= kMost; n++) {
    for (int turn = 0; turn < 12; turn++) {
      int a = (int)(random_next(&random_state) % 64), b = (int)(random_next(&random_state) % 64);
      copies(a, b, n);
      searches(a, n);
      comparisons(a, b, n);
    }
  }
  static char big[300000];
  memset(big, 7, sizeof big);
  memmove(big + 5, big + 1000, 250000);
  memset(big + 3, 0, 200000);
  for (size_t i = 0; i < sizeof big; i++) mix(big[i]);
  printf("sum %016lx\n", (unsigned long)sum);
  others();
  return 0;
}
