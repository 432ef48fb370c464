// The spectral norm of an infinite matrix's corner, by the power method: divisions and sums.
#include "numeric.h"

enum { kSize = 800, kRounds = 10 };

static double entry(int i, int j) { return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1); }

static void times(const double* v, double* out, int transposed) {
  for (int i = 0; i < kSize; i++) {
    double sum = 0;
    for (int j = 0; j < kSize; j++) sum += (transposed ? entry(j, i) : entry(i, j)) * v[j];
    out[i] = sum;
  }
}

static void times_both(const double* v, double* out) {
  static double between[kSize];
  times(v, between, 0);
  times(between, out, 1);
}

int main(void) {
  static double u[kSize], v[kSize];
  uint64_t sum = 0;
  double vbv = 0, vv = 0;
  for (int i = 0; i < kSize; i++) u[i] = 1;
  for (int round = 0; round < kRounds; round++) {
    times_both(u, v);
    times_both(v, u);
  }
  for (int i = 0; i < kSize; i++) {
    vbv += u[i] * v[i];
    vv += v[i] * v[i];
    sum = fold_double(sum, v[i]);
  }
  return report_numeric("spectral", sum, __builtin_sqrt(vbv / vv));
}
