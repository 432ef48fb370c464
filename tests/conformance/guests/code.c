// Programs that write code and run it: the same address rewritten, with and without cache
// maintenance, through protection changes, across a page boundary, and after a new mapping.
#include "guest.h"

#include <sys/mman.h>

enum { kPage = 4096, kRet = (int)0xd65f03c0 };

typedef uint32_t Code;
typedef long (*Function)(long, long);

static Code movz(int rd, unsigned value) { return 0xd2800000u | (value & 0xffff) << 5 | (unsigned)rd; }
static Code add(int rd, int rn, int rm) { return 0x8b000000u | (unsigned)(rm << 16 | rn << 5 | rd); }
static Code sub(int rd, int rn, int rm) { return 0xcb000000u | (unsigned)(rm << 16 | rn << 5 | rd); }
static Code mul(int rd, int rn, int rm) { return 0x9b007c00u | (unsigned)(rm << 16 | rn << 5 | rd); }
static Code eor(int rd, int rn, int rm) { return 0xca000000u | (unsigned)(rm << 16 | rn << 5 | rd); }

static Code* map(int protection, size_t bytes) {
  Code* code = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  return code;
}

static void flush(Code* from, Code* to) { __builtin___clear_cache((char*)from, (char*)to); }

static long call(Code* code, long a, long b) { return ((Function)(void*)code)(a, b); }

static void rewrite_same_address(void) {
  Code* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, kPage);
  long sum = 0;
  for (unsigned i = 0; i < 1000; i++) {
    code[0] = movz(0, i);
    code[1] = (Code)kRet;
    flush(code, code + 2);
    sum += call(code, 0, 0);
  }
  printf("rewritten and flushed: %ld\n", sum);
  // A machine that watches stores to code needs no maintenance; nor does QEMU.
  sum = 0;
  for (unsigned i = 0; i < 1000; i++) {
    *(volatile Code*)code = movz(0, 3 * i);
    sum += call(code, 0, 0);
  }
  printf("rewritten, not flushed: %ld\n", sum);
  // Byte stores: change the immediate only.
  sum = 0;
  for (unsigned i = 0; i < 256; i++) {
    code[0] = movz(0, 0);
    ((volatile unsigned char*)code)[1] = (unsigned char)i;
    flush(code, code + 1);
    sum += call(code, 0, 0);
  }
  printf("rewritten by bytes: %ld\n", sum);
  munmap(code, kPage);
}

static void write_then_protect(void) {
  Code* code = map(PROT_READ | PROT_WRITE, kPage);
  long sum = 0;
  for (unsigned i = 0; i < 50; i++) {
    REQUIRE(mprotect(code, kPage, PROT_READ | PROT_WRITE) == 0);
    code[0] = movz(1, i);
    code[1] = add(0, 0, 1);
    code[2] = (Code)kRet;
    flush(code, code + 3);
    REQUIRE(mprotect(code, kPage, PROT_READ | PROT_EXEC) == 0);
    sum = call(code, sum, 0);
  }
  printf("write, protect, run: %ld\n", sum);
  munmap(code, kPage);
}

static void cross_page(void) {
  Code* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, 2 * kPage);
  long sum = 0;
  for (int start = kPage / 4 - 6; start <= kPage / 4; start++) {
    Code* p = code + start;
    p[0] = movz(2, (unsigned)start);
    p[1] = mul(0, 0, 2);
    p[2] = add(0, 0, 1);
    p[3] = eor(0, 0, 2);
    p[4] = (Code)kRet;
    flush(p, p + 5);
    sum += call(p, 3, 5);
    p[2] = sub(0, 0, 1);  // the second page changes, or the first
    flush(p, p + 5);
    sum = sum * 7 + call(p, 3, 5);
  }
  printf("across two pages: %ld\n", sum);
  munmap(code, 2 * kPage);
}

static void remap_same_address(void) {
  Code* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, kPage);
  long sum = 0;
  for (unsigned i = 1; i < 20; i++) {
    Code* again = mmap(code, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    REQUIRE(again == code && code[0] == 0);
    code[0] = movz(0, i * 11);
    code[1] = (Code)kRet;
    flush(code, code + 2);
    sum = sum * 3 + call(code, 0, 0);
  }
  Code* moved = mremap(code, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, (char*)code + 16 * kPage);
  REQUIRE(moved != MAP_FAILED);
  printf("mapped anew: %ld, moved: %ld\n", sum, call(moved, 0, 0));
  munmap(moved, kPage);
}

// A little compiler: random straight-line functions, checked against a walk over the same program.
static void compile_and_run(void) {
  Code* code = map(PROT_READ | PROT_WRITE | PROT_EXEC, kPage);
  uint64_t random = 1, sum = 0;
  for (int function = 0; function < 500; function++) {
    long x[4] = {(long)random_next(&random), (long)random_next(&random), 0, 0};
    long a = x[0], b = x[1];
    Code* p = code + function % 64;
    Code* start = p;
    *p++ = movz(2, 0);
    *p++ = movz(3, 0);
    for (int n = (int)(random_next(&random) % 40); n >= 0; n--) {
      uint32_t dice = random_next(&random);
      int d = (int)(dice >> 8 & 3), l = (int)(dice >> 16 & 3), r = (int)(dice >> 24 & 3);
      unsigned value = random_next(&random) & 0xffff;
      switch (random_next(&random) % 5) {
        case 0:
          *p++ = movz(d, value);
          x[d] = (long)value;
          break;
        case 1:
          *p++ = add(d, l, r);
          x[d] = (long)((uint64_t)x[l] + (uint64_t)x[r]);
          break;
        case 2:
          *p++ = sub(d, l, r);
          x[d] = (long)((uint64_t)x[l] - (uint64_t)x[r]);
          break;
        case 3:
          *p++ = mul(d, l, r);
          x[d] = (long)((uint64_t)x[l] * (uint64_t)x[r]);
          break;
        default: *p++ = eor(d, l, r); x[d] = x[l] ^ x[r];
      }
    }
    *p++ = (Code)kRet;
    flush(start, p);
    long result = call(start, a, b);
    REQUIRE(result == x[0]);
    sum = sum * 31 + (uint64_t)result;
  }
  printf("compiled functions: %lx\n", (unsigned long)sum);
  munmap(code, kPage);
}

int main(void) {
  rewrite_same_address();
  write_then_protect();
  cross_page();
  remap_same_address();
  compile_and_run();
  return 0;
}
