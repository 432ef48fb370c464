// The Mandelbrot set: how long each point of a grid stays bounded.
#include "numeric.h"

enum { kWidth = 640, kHeight = 400, kLimit = 400 };

static int steps(double re, double im) {
  double x = 0, y = 0;
  for (int n = 0; n < kLimit; n++) {
    double xx = x * x, yy = y * y;
    if (xx + yy > 4) return n;
    y = 2 * x * y + im;
    x = xx - yy + re;
  }
  return kLimit;
}

int main(void) {
  uint64_t sum = 0, total = 0;
  for (int row = 0; row < kHeight; row++) {
    for (int column = 0; column < kWidth; column++) {
      int n = steps(-2.2 + 3.2 * column / kWidth, -1.0 + 2.0 * row / kHeight);
      sum = fold(sum, (uint64_t)n);
      total += (uint64_t)n;
    }
  }
  return report_numeric("mandelbrot", sum, (double)total / (kWidth * kHeight));
}
