// Product of square matrices of floats, row by row, so that the inner loop can be vectorised.
#include "numeric.h"

enum { kSize = 256, kPasses = 12 };

typedef float Matrix[kSize][kSize];

static void multiply(Matrix out, const Matrix a, const Matrix b) {
  memset(out, 0, sizeof(Matrix));
  for (int i = 0; i < kSize; i++) {
    for (int k = 0; k < kSize; k++) {
      float factor = a[i][k];
      float* restrict to = out[i];
      const float* restrict from = b[k];
      for (int j = 0; j < kSize; j++) to[j] += factor * from[j];
    }
  }
}

int main(void) {
  static Matrix a, b, c;
  uint64_t random = 13, sum = 0;
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) {
      a[i][j] = (float)(random_unit(&random) - 0.5);
      b[i][j] = (float)(random_unit(&random) - 0.5) / 4;
    }
  }
  for (int pass = 0; pass < kPasses / 2; pass++) {
    multiply(c, a, b);
    multiply(a, c, b);
  }
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) sum = fold_float(sum, a[i][j]);
  }
  return report_numeric("fmatmul", sum, a[1][2]);
}
