// One input a lane: stdin is "TURNS EXPRESSION". Parses and evaluates the expression anew for x = 1 .. TURNS and prints
// a line for the last values and a sum. What runs depends on the text, so every input takes its own way.
//
//   expression  sum [? expression : expression]        a condition: not 0
//   sum         product {(+|-) product}
//   product     factor {(*|/|%) factor}                / and % by 0 give 0
//   factor      number | x | -factor | (expression) | NAME(expression), NAME one of abs bits gcd sqrt
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char* at;
  int64_t x;
} Parser;

static int64_t expression(Parser* p);

static void wrong(const char* at) {
  printf("error at '%.8s'\n", at);
  exit(1);
}

static void space(Parser* p) {
  while (isspace((unsigned char)*p->at)) p->at++;
}

static int take(Parser* p, char c) {
  space(p);
  if (*p->at != c) return 0;
  p->at++;
  return 1;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
  uint64_t u = (uint64_t)llabs(a), v = (uint64_t)llabs(b);
  while (v) {
    uint64_t rest = u % v;
    u = v;
    v = rest;
  }
  return (int64_t)u;
}

static int64_t root(int64_t n) {
  if (n < 2) return n < 0 ? 0 : n;
  uint64_t guess = (uint64_t)n, next = (guess + 1) / 2;
  while (next < guess) {
    guess = next;
    next = (guess + (uint64_t)n / guess) / 2;
  }
  return (int64_t)guess;
}

static int64_t call(Parser* p) {
  char name[8];
  size_t length = 0;
  while (isalpha((unsigned char)*p->at) && length + 1 < sizeof name) name[length++] = *p->at++;
  name[length] = 0;
  if (strcmp(name, "x") == 0) return p->x;
  if (!take(p, '(')) wrong(p->at);
  int64_t value = expression(p);
  if (!take(p, ')')) wrong(p->at);
  if (strcmp(name, "abs") == 0) return llabs(value);
  if (strcmp(name, "bits") == 0) return __builtin_popcountll((uint64_t)value);
  if (strcmp(name, "gcd") == 0) return greatest_divisor(value, 5040 + p->x);
  if (strcmp(name, "sqrt") == 0) return root(value);
  wrong(name);
  return 0;
}

static int64_t factor(Parser* p) {
  space(p);
  if (isdigit((unsigned char)*p->at)) {
    char* end;
    int64_t value = strtoll(p->at, &end, 10);
    p->at = end;
    return value;
  }
  if (isalpha((unsigned char)*p->at)) return call(p);
  if (take(p, '-')) return (int64_t)(0 - (uint64_t)factor(p));
  if (!take(p, '(')) wrong(p->at);
  int64_t value = expression(p);
  if (!take(p, ')')) wrong(p->at);
  return value;
}

static int64_t product(Parser* p) {
  int64_t value = factor(p);
  for (;;) {
    if (take(p, '*')) {
      value = (int64_t)((uint64_t)value * (uint64_t)factor(p));
    } else if (take(p, '/')) {
      int64_t by = factor(p);
      value = by == 0 || by == -1 ? 0 : value / by;
    } else if (take(p, '%')) {
      int64_t by = factor(p);
      value = by == 0 || by == -1 ? 0 : value % by;
    } else {
      return value;
    }
  }
}

static int64_t sum(Parser* p) {
  int64_t value = product(p);
  for (;;) {
    if (take(p, '+'))
      value = (int64_t)((uint64_t)value + (uint64_t)product(p));
    else if (take(p, '-'))
      value = (int64_t)((uint64_t)value - (uint64_t)product(p));
    else
      return value;
  }
}

static int64_t expression(Parser* p) {
  int64_t value = sum(p);
  if (!take(p, '?')) return value;
  int64_t yes = expression(p);
  if (!take(p, ':')) wrong(p->at);
  int64_t no = expression(p);
  return value ? yes : no;
}

int main(void) {
  static char text[8192];
  size_t size = fread(text, 1, sizeof text - 1, stdin);
  text[size] = 0;
  char* start;
  long turns = strtol(text, &start, 10);
  uint64_t total = 0;
  int64_t last = 0;
  for (long turn = 1; turn <= turns; turn++) {
    Parser parser = {start, turn};
    last = expression(&parser);
    space(&parser);
    if (*parser.at) wrong(parser.at);
    total = total * 31 + (uint64_t)last;
  }
  printf("%ld turns, last %lld, sum %016llx\n", turns, (long long)last, (unsigned long long)total);
  return (int)(total & 1);
}
