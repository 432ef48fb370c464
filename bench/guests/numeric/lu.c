// LU decomposition with partial pivoting of a matrix of doubles, and the solution of one system with it.
#include "numeric.h"

enum { kSize = 320, kPasses = 8 };

static double a[kSize][kSize], b[kSize];

static void fill(uint64_t* random) {
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < kSize; j++) a[i][j] = random_unit(random) - 0.5;
    b[i] = random_unit(random);
  }
}

static int pivot_row(int column) {
  int best = column;
  for (int i = column + 1; i < kSize; i++) {
    if (__builtin_fabs(a[i][column]) > __builtin_fabs(a[best][column])) best = i;
  }
  return best;
}

static void swap_rows(int i, int j) {
  for (int k = 0; k < kSize; k++) {
    double t = a[i][k];
    a[i][k] = a[j][k];
    a[j][k] = t;
  }
  double t = b[i];
  b[i] = b[j];
  b[j] = t;
}

static void decompose(void) {
  for (int k = 0; k < kSize; k++) {
    int best = pivot_row(k);
    if (best != k) swap_rows(k, best);
    const double* restrict from = a[k];
    for (int i = k + 1; i < kSize; i++) {
      double* restrict to = a[i];
      double factor = to[k] / from[k];
      to[k] = factor;
      for (int j = k + 1; j < kSize; j++) to[j] -= factor * from[j];
    }
  }
}

static void solve(void) {
  for (int i = 0; i < kSize; i++) {
    for (int j = 0; j < i; j++) b[i] -= a[i][j] * b[j];
  }
  for (int i = kSize - 1; i >= 0; i--) {
    for (int j = i + 1; j < kSize; j++) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
}

int main(void) {
  uint64_t random = 11, sum = 0;
  for (int pass = 0; pass < kPasses; pass++) {
    fill(&random);
    decompose();
    solve();
    for (int i = 0; i < kSize; i++) sum = fold_double(sum, b[i]);
  }
  return report_numeric("lu", sum, b[0]);
}
