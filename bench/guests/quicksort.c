// Quicksort with the median of three, insertion sort for short runs.
#include "bench.h"

enum { kCount = SIZE(2000000, 8192), kShort = 12 };

static void swap(uint32_t* a, uint32_t* b) {
  uint32_t t = *a;
  *a = *b;
  *b = t;
}

static void insertion_sort(uint32_t* first, uint32_t* last) {
  for (uint32_t* i = first + 1; i <= last; i++) {
    uint32_t value = *i, *hole = i;
    for (; hole > first && hole[-1] > value; hole--) *hole = hole[-1];
    *hole = value;
  }
}

static void quicksort(uint32_t* first, uint32_t* last) {
  while (last - first >= kShort) {
    uint32_t* middle = first + (last - first) / 2;
    if (*middle < *first) swap(middle, first);
    if (*last < *first) swap(last, first);
    if (*last < *middle) swap(last, middle);
    uint32_t pivot = *middle, *i = first, *j = last;
    while (i <= j) {
      while (*i < pivot) i++;
      while (pivot < *j) j--;
      if (i <= j) swap(i++, j--);
    }
    if (j - first < last - i) {  // recurse into the smaller part
      quicksort(first, j);
      first = i;
    } else {
      quicksort(i, last);
      last = j;
    }
  }
  insertion_sort(first, last);
}

int main(void) {
  uint32_t* numbers = allocate(kCount * sizeof *numbers);
  uint64_t random = 3, sum = 0;
  const uint32_t own = OWN() >> 48, common = SIZE(~0u, ~65535u);  // own in the low bits alone: the order stays
  for (int passes = PASSES(1, 1); passes > 0; passes--) {
    for (int i = 0; i < kCount; i++) numbers[i] = (random_next(&random) & common) ^ own;
    quicksort(numbers, numbers + kCount - 1);
    for (int i = 0; i < kCount; i++) sum = fold(sum, numbers[i]);
  }
  return report("quicksort", sum);
}
