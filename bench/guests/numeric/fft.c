// Fast Fourier transform of complex doubles, radix 2 in place, forth and back.
#include "numeric.h"

enum { kBits = 13, kSize = 1 << kBits, kPasses = 192 };

typedef struct {
  double re, im;
} Complex;

static Complex roots[kSize / 2], data[kSize];

static Complex times(Complex a, Complex b) { return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// exp(-2 pi i k / size) without the C library: halve the angle, then multiply.
static void fill_roots(void) {
  Complex half[kBits];  // half[n]: exp(-i pi / 2^n)
  half[0] = (Complex){-1, 0};
  half[1] = (Complex){0, -1};
  for (int n = 2; n < kBits; n++) {
    half[n].re = __builtin_sqrt((1 + half[n - 1].re) / 2);
    half[n].im = half[n - 1].im / (2 * half[n].re);
  }
  roots[0] = (Complex){1, 0};
  for (int n = kBits - 1, known = 1; known < kSize / 2; n--, known *= 2) {
    for (int k = 0; k < known; k++) roots[known + k] = times(roots[k], half[n]);
  }
}

static void reorder(void) {
  for (unsigned i = 0, j = 0; i < kSize; i++) {
    if (i < j) {
      Complex swap = data[i];
      data[i] = data[j];
      data[j] = swap;
    }
    unsigned bit = kSize / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j |= bit;
  }
}

static void transform(double direction) {
  reorder();
  for (int length = 2; length <= kSize; length *= 2) {
    int stride = kSize / length;
    for (int start = 0; start < kSize; start += length) {
      for (int k = 0; k < length / 2; k++) {
        Complex root = {roots[k * stride].re, roots[k * stride].im * direction};
        Complex *low = &data[start + k], *high = low + length / 2;
        Complex turned = times(*high, root);
        *high = (Complex){low->re - turned.re, low->im - turned.im};
        *low = (Complex){low->re + turned.re, low->im + turned.im};
      }
    }
  }
}

int main(void) {
  uint64_t random = 7, sum = 0;
  fill_roots();
  for (int i = 0; i < kSize; i++) data[i] = (Complex){random_unit(&random) - 0.5, random_unit(&random) - 0.5};
  for (int pass = 0; pass < kPasses / 2; pass++) {
    transform(1);
    transform(-1);
    for (int i = 0; i < kSize; i++) data[i] = (Complex){data[i].re / kSize, data[i].im / kSize};
  }
  for (int i = 0; i < kSize; i++) sum = fold_double(fold_double(sum, data[i].re), data[i].im);
  return report_numeric("fft", sum, data[1].re);
}
