// Product of square integer matrices, the textbook loops.
#include "bench.h"

enum { kSize = SIZE(192, 32) };

typedef uint32_t Matrix[kSize][kSize];

static void multiply(Matrix out, const Matrix a, const Matrix b) {
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) {
      uint32_t sum = 0;
      for (int k = 0; k < kSize; k++) sum += a[i][k] * b[k][j];
      out[i][j] = sum;
    }
  }
}

int main(void) {
  static Matrix a, b, c;
  uint64_t random = 4 + OWN(), sum = 0;
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) {
      a[i][j] = random_next(&random);
      b[i][j] = random_next(&random) << 1 | (i == j);  // can be inverted: products never run out of bits
    }
  }
  for (int passes = PASSES(4, 2); passes > 0; passes--) {
    multiply(c, a, b);
    multiply(a, c, b);
  }
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) sum = fold(sum, a[i][j]);
  }
  return report("matmul", sum);
}
