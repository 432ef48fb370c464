// CRC-32 (the polynomial of zip), one bit at a time.
#include "bench.h"

enum { kBytes = SIZE(1 << 20, 1 << 14) };

static uint32_t crc32(uint32_t crc, const uint8_t* data, size_t n) {
  crc = ~crc;
  for (size_t i = 0; i < n; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
  }
  return ~crc;
}

int main(void) {
  uint8_t* data = allocate(kBytes);
  uint64_t random = 1 + OWN();
  const int passes = PASSES(6, 1);
  for (int i = 0; i < kBytes; i++) data[i] = (uint8_t)random_next(&random);
  uint32_t crc = 0;
  for (int pass = 0; pass < passes; pass++) crc = crc32(crc, data, kBytes);
  return report("crc32", crc);
}
