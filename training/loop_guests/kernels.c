// Loops of many shapes, over several types and lengths, for the loop detector's corpus (training/loops_corpus.py).
// Which of them the prover can prove is not said here: it says so itself.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER_INLINED __attribute__((noinline))
enum { kMost = 4096 };

#define OF_TYPE(T)                                                                      \
  static T a_##T[kMost], b_##T[kMost], c_##T[kMost];                                    \
  NEVER_INLINED void fill_##T(T* to, T value, long n) {                                 \
    for (long i = 0; i < n; ++i) to[i] = value;                                         \
  }                                                                                     \
  NEVER_INLINED void fill_down_##T(T* to, T value, long n) {                            \
    while (n-- > 0) to[n] = value;                                                      \
  }                                                                                     \
  NEVER_INLINED void fill_every_##T(T* to, T value, long n, long by) {                  \
    for (long i = 0; i < n; i += by) to[i] = value;                                     \
  }                                                                                     \
  NEVER_INLINED void count_into_##T(T* to, long n) {                                    \
    for (long i = 0; i < n; ++i) to[i] = (T)i;                                          \
  }                                                                                     \
  NEVER_INLINED void copy_##T(T* restrict to, const T* restrict from, long n) {         \
    while (n--) *to++ = *from++;                                                        \
  }                                                                                     \
  NEVER_INLINED void copy_down_##T(T* to, const T* from, long n) {                      \
    for (long i = n; i-- > 0;) to[i] = from[i];                                         \
  }                                                                                     \
  NEVER_INLINED void reverse_##T(T* to, const T* from, long n) {                        \
    for (long i = 0; i < n; ++i) to[i] = from[n - 1 - i];                               \
  }                                                                                     \
  NEVER_INLINED long length_##T(const T* s) {                                           \
    long n = 0;                                                                         \
    while (s[n]) ++n;                                                                   \
    return n;                                                                           \
  }                                                                                     \
  NEVER_INLINED long find_##T(const T* s, T what, long n) {                             \
    long i = 0;                                                                         \
    for (; i < n; ++i)                                                                  \
      if (s[i] == what) break;                                                          \
    return i;                                                                           \
  }                                                                                     \
  NEVER_INLINED long find_last_##T(const T* s, T what, long n) {                        \
    while (n > 0 && s[n - 1] != what) --n;                                              \
    return n;                                                                           \
  }                                                                                     \
  NEVER_INLINED long same_##T(const T* a, const T* b, long n) {                         \
    long i = 0;                                                                         \
    while (i < n && a[i] == b[i]) ++i;                                                  \
    return i;                                                                           \
  }                                                                                     \
  NEVER_INLINED uint64_t sum_##T(const T* s, long n) {                                  \
    uint64_t all = 0;                                                                   \
    for (long i = 0; i < n; ++i) all += s[i];                                           \
    return all;                                                                         \
  }                                                                                     \
  NEVER_INLINED T exclusive_##T(const T* s, long n) {                                   \
    T all = 0;                                                                          \
    for (long i = 0; i < n; ++i) all ^= s[i];                                           \
    return all;                                                                         \
  }                                                                                     \
  NEVER_INLINED T most_##T(const T* s, long n) {                                        \
    T most = s[0];                                                                      \
    for (long i = 1; i < n; ++i) most = s[i] > most ? s[i] : most;                      \
    return most;                                                                        \
  }                                                                                     \
  NEVER_INLINED long where_most_##T(const T* s, long n) {                               \
    long at = 0;                                                                        \
    for (long i = 1; i < n; ++i)                                                        \
      if (s[i] > s[at]) at = i;                                                         \
    return at;                                                                          \
  }                                                                                     \
  NEVER_INLINED long count_##T(const T* s, T what, long n) {                            \
    long found = 0;                                                                     \
    for (long i = 0; i < n; ++i) found += s[i] == what;                                 \
    return found;                                                                       \
  }                                                                                     \
  NEVER_INLINED uint64_t dot_##T(const T* a, const T* b, long n) {                      \
    uint64_t all = 0;                                                                   \
    for (long i = 0; i < n; ++i) all += (uint64_t)a[i] * b[i];                          \
    return all;                                                                         \
  }                                                                                     \
  NEVER_INLINED void add_##T(T* to, const T* a, const T* b, long n) {                   \
    for (long i = 0; i < n; ++i) to[i] = (T)(a[i] + b[i]);                              \
  }                                                                                     \
  NEVER_INLINED void scale_##T(T* to, T by, T more, long n) {                           \
    for (long i = 0; i < n; ++i) to[i] = (T)(to[i] * by + more);                        \
  }                                                                                     \
  NEVER_INLINED void prefix_##T(T* to, long n) {                                        \
    for (long i = 1; i < n; ++i) to[i] = (T)(to[i] + to[i - 1]);                        \
  }                                                                                     \
  NEVER_INLINED void smooth_##T(T* to, const T* s, long n) {                            \
    for (long i = 1; i + 1 < n; ++i) to[i] = (T)((s[i - 1] + 2 * s[i] + s[i + 1]) / 4); \
  }                                                                                     \
  NEVER_INLINED void through_##T(T* to, const T* s, const T* table, long n) {           \
    for (long i = 0; i < n; ++i) to[i] = table[s[i] & 255];                             \
  }                                                                                     \
  NEVER_INLINED void histogram_##T(uint32_t* to, const T* s, long n) {                  \
    for (long i = 0; i < n; ++i) ++to[s[i] & 255];                                      \
  }                                                                                     \
  NEVER_INLINED void clamp_##T(T* s, T low, T high, long n) {                           \
    for (long i = 0; i < n; ++i) {                                                      \
      if (s[i] < low)                                                                   \
        s[i] = low;                                                                     \
      else if (s[i] > high)                                                             \
        s[i] = high;                                                                    \
    }                                                                                   \
  }                                                                                     \
  NEVER_INLINED long pick_##T(T* to, const T* s, T than, long n) {                      \
    long k = 0;                                                                         \
    for (long i = 0; i < n; ++i)                                                        \
      if (s[i] > than) to[k++] = s[i];                                                  \
    return k;                                                                           \
  }                                                                                     \
  NEVER_INLINED void sort_##T(T* s, long n) {                                           \
    for (long i = 1; i < n; ++i) {                                                      \
      T one = s[i];                                                                     \
      long k = i;                                                                       \
      while (k > 0 && s[k - 1] > one) {                                                 \
        s[k] = s[k - 1];                                                                \
        --k;                                                                            \
      }                                                                                 \
      s[k] = one;                                                                       \
    }                                                                                   \
  }                                                                                     \
  NEVER_INLINED void swap_##T(T* a, T* b, long n) {                                     \
    for (long i = 0; i < n; ++i) {                                                      \
      T one = a[i];                                                                     \
      a[i] = b[i];                                                                      \
      b[i] = one;                                                                       \
    }                                                                                   \
  }                                                                                     \
  NEVER_INLINED uint64_t hash_##T(const T* s, long n) {                                 \
    uint64_t h = 5381;                                                                  \
    for (long i = 0; i < n; ++i) h = h * 33 + s[i];                                     \
    return h;                                                                           \
  }                                                                                     \
  NEVER_INLINED uint64_t mix_##T(const T* s, long n) {                                  \
    uint64_t h = 1;                                                                     \
    for (long i = 0; i < n; ++i) {                                                      \
      h ^= s[i];                                                                        \
      h *= 1099511628211u;                                                              \
    }                                                                                   \
    return h;                                                                           \
  }                                                                                     \
  NEVER_INLINED uint64_t all_##T(long n, T seed) {                                      \
    uint64_t r = 0;                                                                     \
    static uint32_t bins[256];                                                          \
    T *a = a_##T, *b = b_##T, *c = c_##T;                                               \
    fill_##T(a, seed, n);                                                               \
    count_into_##T(b, n);                                                               \
    fill_down_##T(c, 3, n);                                                             \
    fill_every_##T(a, 7, n, 1 + n % 5);                                                 \
    copy_##T(c, b, n);                                                                  \
    copy_down_##T(a, c, n / 2);                                                         \
    reverse_##T(b, c, n);                                                               \
    a[n - 1] = 0;                                                                       \
    for (long i = 0; i < n - 1; ++i) a[i] |= 1;                                         \
    r += length_##T(a);                                                                 \
    r += find_##T(b, 5, n);                                                             \
    r += find_last_##T(b, 9, n);                                                        \
    r += same_##T(a, c, n);                                                             \
    r += sum_##T(b, n);                                                                 \
    r += exclusive_##T(b, n);                                                           \
    r += most_##T(b, n);                                                                \
    r += where_most_##T(b, n);                                                          \
    r += count_##T(b, 3, n);                                                            \
    r += dot_##T(a, b, n);                                                              \
    add_##T(c, a, b, n);                                                                \
    scale_##T(c, 5, seed, n);                                                           \
    prefix_##T(c, n);                                                                   \
    smooth_##T(a, c, n);                                                                \
    through_##T(b, a, c, n);                                                            \
    histogram_##T(bins, b, n);                                                          \
    clamp_##T(b, 10, 90, n);                                                            \
    r += pick_##T(c, b, 20, n);                                                         \
    sort_##T(c, n < 64 ? n : 64);                                                       \
    swap_##T(a, b, n);                                                                  \
    r += hash_##T(a, n);                                                                \
    r += mix_##T(c, n);                                                                 \
    return r + bins[7];                                                                 \
  }
OF_TYPE(uint8_t)
OF_TYPE(uint16_t)
OF_TYPE(uint32_t)
OF_TYPE(uint64_t)
OF_TYPE(int32_t)
OF_TYPE(int64_t)
#define REAL(T)                                                        \
  NEVER_INLINED T real_##T(T* to, const T* a, const T* b, long n) {    \
    T all = 0;                                                         \
    for (long i = 0; i < n; ++i) to[i] = a[i] * b[i] + to[i];          \
    for (long i = 0; i < n; ++i) all += to[i] > 0 ? to[i] : -to[i];    \
    for (long i = 1; i < n; ++i) to[i] = (to[i] - to[i - 1]) * (T)0.5; \
    return all;                                                        \
  }
REAL(float)

struct Node {
  struct Node* next;
  int key;
  uint8_t pad[20];
};
struct Pair {
  uint32_t key, value;
};

NEVER_INLINED long walk(const struct Node* n) {
  long all = 0;
  for (; n; n = n->next) all += n->key;
  return all;
}
NEVER_INLINED uint32_t crc(uint32_t c, const uint8_t* s, long n) {
  while (n--) {
    c ^= *s++;
    for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
  }
  return c;
}
NEVER_INLINED uint32_t adler(const uint8_t* s, long n) {
  uint32_t a = 1, b = 0;
  while (n--) {
    a = (a + *s++) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}
NEVER_INLINED long collatz(uint64_t n) {
  long steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}
NEVER_INLINED uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
NEVER_INLINED uint64_t power(uint64_t a, uint64_t e, uint64_t m) {
  uint64_t r = 1;
  for (; e; e >>= 1) {
    if (e & 1) r = r * a % m;
    a = a * a % m;
  }
  return r;
}
NEVER_INLINED uint64_t fibonacci(long n) {
  uint64_t a = 0, b = 1;
  while (n-- > 0) {
    uint64_t c = a + b;
    a = b;
    b = c;
  }
  return a;
}
NEVER_INLINED uint64_t lcg(uint64_t x, long n) {
  for (long i = 0; i < n; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}
NEVER_INLINED uint64_t xorshift(uint64_t x, long n) {
  while (n-- > 0) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}
NEVER_INLINED long wait_for(long n) {
  volatile long v = 0;
  for (long i = 0; i < n; ++i) v = v + 1;
  return v;
}
NEVER_INLINED int bits(uint64_t x) {
  int n = 0;
  while (x) {
    x &= x - 1;
    ++n;
  }
  return n;
}
NEVER_INLINED void structs(struct Pair* to, long n) {
  for (long i = 0; i < n; ++i) {
    to[i].key = (uint32_t)i * 7;
    to[i].value = 0;
  }
}
NEVER_INLINED long keys(const struct Pair* s, uint32_t key, long n) {
  for (long i = 0; i < n; ++i)
    if (s[i].key == key) return i;
  return -1;
}
NEVER_INLINED long digits(char* to, uint64_t n) {
  char* s = to;
  do *s++ = (char)('0' + n % 10);
  while (n /= 10);
  return s - to;
}
NEVER_INLINED uint64_t number(const char* s) {
  uint64_t n = 0;
  while (*s >= '0' && *s <= '9') n = n * 10 + (uint64_t)(*s++ - '0');
  return n;
}
NEVER_INLINED const char* skip(const char* s) {
  while (*s == ' ' || *s == '\t') ++s;
  return s;
}
NEVER_INLINED void upper(char* s) {
  for (; *s; ++s)
    if (*s >= 'a' && *s <= 'z') *s -= 32;
}
NEVER_INLINED long words(const char* s) {
  long n = 0;
  int in = 0;
  for (; *s; ++s) {
    int w = *s != ' ';
    n += w && !in;
    in = w;
  }
  return n;
}
NEVER_INLINED long called(long n, long (*f)(uint64_t)) {
  long all = 0;
  for (long i = 1; i < n; ++i) all += f((uint64_t)i);
  return all;
}
NEVER_INLINED void multiply(const uint32_t* a, const uint32_t* b, uint32_t* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      uint32_t all = 0;
      for (int j = 0; j < n; ++j) all += a[i * n + j] * b[j * n + k];
      c[i * n + k] = all;
    }
}
NEVER_INLINED void transpose(uint16_t* to, const uint16_t* s, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) to[k * n + i] = s[i * n + k];
}
NEVER_INLINED void add_big(uint64_t* to, const uint64_t* a, const uint64_t* b, long n) {
  unsigned carry = 0;
  for (long i = 0; i < n; ++i) {
    uint64_t s = a[i] + carry;
    carry = s < carry;
    to[i] = s + b[i];
    carry += to[i] < s;
  }
}
NEVER_INLINED long marked(uint8_t* mark, long n) {
  long primes = 0;
  for (long i = 2; i < n; ++i) {
    if (mark[i]) continue;
    ++primes;
    for (long k = 2 * i; k < n; k += i) mark[k] = 1;
  }
  return primes;
}
NEVER_INLINED long match(const char* text, const char* what) {
  for (long i = 0; text[i]; ++i) {
    long k = 0;
    while (what[k] && text[i + k] == what[k]) ++k;
    if (!what[k]) return i;
  }
  return -1;
}
NEVER_INLINED void columns(uint32_t* to, const uint8_t* texture, uint32_t at, uint32_t step, long n) {
  while (n--) {
    *to = texture[at >> 16 & 127];
    to += 80;
    at += step;
  }
}
NEVER_INLINED void blend(uint32_t* to, const uint32_t* s, long n) {
  for (long i = 0; i < n; ++i) to[i] = (to[i] >> 1 & 0x7f7f7f7f) + (s[i] >> 1 & 0x7f7f7f7f);
}
NEVER_INLINED void swap_bytes(uint32_t* s, long n) {
  for (long i = 0; i < n; ++i) s[i] = __builtin_bswap32(s[i]);
}
NEVER_INLINED void widen(uint32_t* to, const uint8_t* s, long n) {
  for (long i = 0; i < n; ++i) to[i] = s[i] * 0x10101u;
}
NEVER_INLINED void narrow(uint8_t* to, const uint32_t* s, long n) {
  for (long i = 0; i < n; ++i) to[i] = (uint8_t)(s[i] >> 8);
}

static uint64_t others(long n) {
  static struct Node nodes[256];
  static struct Pair pairs[1024];
  static uint8_t mark[kMost];
  static uint32_t wide[kMost * 2], matrix[3][32 * 32];
  static uint16_t square[2][64 * 64];
  static uint64_t big[3][64];
  char text[400];
  uint64_t r = 0;
  for (int i = 0; i < 255; ++i) {
    nodes[i].next = &nodes[i + 1];
    nodes[i].key = i * 3;
  }
  for (int i = 0; i < 399; ++i) text[i] = "the quick brown fox 12345 "[i % 26];
  text[399] = 0;
  r += (uint64_t)walk(nodes) + crc(0, (uint8_t*)text, 100) + adler((uint8_t*)text, 399) + (uint64_t)collatz(27);
  r += gcd(1071u * (uint64_t)n, 462) + power(3, (uint64_t)n, 1000007) + fibonacci(n % 90) + lcg(1, n) + xorshift(1, n);
  r += (uint64_t)wait_for(n % 500) + (uint64_t)bits(r);
  structs(pairs, n < 1024 ? n : 1024);
  r += (uint64_t)keys(pairs, 700, 1024) + number("12345678") + (uint64_t)(skip("      x") - text != 0);
  r += (uint64_t)digits(text + 300, r);
  upper(text);
  r += (uint64_t)words(text) + (uint64_t)called(30, collatz) + (uint64_t)match(text, "FOX 12346");
  multiply(matrix[0], matrix[1], matrix[2], 12 + (int)(n % 20));
  transpose(square[0], square[1], 20 + (int)(n % 40));
  add_big(big[0], big[1], big[2], 8 + n % 56);
  memset(mark, 0, sizeof(mark));
  r += (uint64_t)marked(mark, n);
  columns(wide, mark, 0, 70000, n % 100);
  blend(wide, wide + kMost, n);
  swap_bytes(wide, n);
  widen(wide, mark, n);
  narrow(mark, wide, n);
  return r;
}

int main(void) {
  static const long kLengths[] = {9, 3000, 31, 700, 150};
  static float x[kMost], y[kMost], z[kMost];
  uint64_t r = 0;
  for (unsigned i = 0; i < sizeof(kLengths) / sizeof(kLengths[0]); ++i) {
    const long n = kLengths[i];
    r += all_uint8_t(n, 3) + all_uint16_t(n, 5) + all_uint32_t(n, 7) + all_uint64_t(n, 9);
    r += all_int32_t(n, 11) + all_int64_t(n, 13) + others(n);
    r += (uint64_t)real_float(x, y, z, n);
  }
  printf("%d\n", r != 0);
}
