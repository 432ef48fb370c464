// Sorts numbers by merging: sort COUNT (default 8 M; 128 MB with the second array).
#include "workload.h"

static void merge(const uint64_t* from, uint64_t* to, uint32_t first, uint32_t middle, uint32_t last) {
  uint32_t left = first, right = middle;
  for (uint32_t i = first; i < last; i++) {
    if (left < middle && (right >= last || from[left] <= from[right]))
      to[i] = from[left++];
    else
      to[i] = from[right++];
  }
}

int main(int argc, char** argv) {
  uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 8u << 20;
  uint64_t random = 53, sum = 0;
  uint64_t* numbers = allocate(count * sizeof(uint64_t));
  uint64_t* spare = allocate(count * sizeof(uint64_t));
  for (uint32_t i = 0; i < count; i++) numbers[i] = (uint64_t)random_next(&random) << 32 | i;
  for (uint32_t width = 1; width < count; width *= 2) {
    for (uint32_t first = 0; first < count; first += 2 * width) {
      uint32_t middle = count - first < width ? count : first + width;
      uint32_t last = count - middle < width ? count : middle + width;
      merge(numbers, spare, first, middle, last);
    }
    uint64_t* other = numbers;
    numbers = spare;
    spare = other;
  }
  for (uint32_t i = 0; i < count; i++) sum = sum * 31 + numbers[i];
  return report("sort", sum);
}
