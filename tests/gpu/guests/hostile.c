// A guest that means no good: hostile MODE SEED COUNT. Whatever it does must stay on its own lane.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t state;

static uint64_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  uint64_t x = state ^ state >> 29;
  return (x * 0xbf58476d1ce4e5b9u) ^ x >> 32;
}

static sigjmp_buf back;
static void caught(int signal) { siglongjmp(back, signal); }

static void catch_all(void) {
  struct sigaction action = {.sa_handler = caught, .sa_flags = SA_NODEFER};
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

// Random words as code: once to the death, or many times with the signals caught. No supervisor calls: those are for "calls".
static void words(long count) {
  enum { kWords = 256 };
  uint32_t* code = mmap(NULL, kWords * 4, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (volatile long round = 0; round < count; round++) {
    for (int i = 0; i < kWords; i++) {
      do code[i] = (uint32_t)next();
      while ((code[i] & 0xffe0001f) == 0xd4000001);
    }
    __builtin___clear_cache((char*)code, (char*)(code + kWords));
    if (count > 1 && sigsetjmp(back, 1)) continue;
    ((void (*)(void))code)();
  }
}

// Loads and stores anywhere.
static void pointers(long count) {
  catch_all();
  volatile long faults = 0;
  for (volatile long round = 0; round < count; round++) {
    uint64_t address = next() >> next() % 64;
    if (sigsetjmp(back, 1)) {
      faults++;
      continue;
    }
    if (address - 0x10000 < 0x1000000) continue;  // perhaps our own image
    volatile uint64_t* there = (volatile uint64_t*)address;
    if (round & 1)
      *there = address;
    else
      state += *there;
  }
  printf("%ld of %ld faults\n", faults, count);
}

static void endless(void) {
  for (;;) __asm__ volatile("");
}

static int deeper(volatile char* above) {
  volatile char here[512];
  here[0] = *above;
  return deeper(here) + here[0];
}

static void calls(long count) {
  uint64_t sum = 0;
  for (long round = 0; round < count; round++) {
    uint64_t a = next();
    switch (round % 8) {
      case 0: sum += (uint64_t)syscall(SYS_getpid) != 0; break;
      case 1: sum += (uint64_t)syscall(SYS_write, 1, (void*)(a | 1ull << 60), a % 100); break;
      case 2: sum += (uint64_t)syscall(400 + a % 1000, a, a, a); break;
      case 3: sum += (uint64_t)syscall(SYS_munmap, a & 0x7ffffffff000, 4096); break;
      case 4: sum += (uint64_t)syscall(SYS_brk, 0) != 0; break;
      case 5: sum += (uint64_t)syscall(SYS_mprotect, a, a, a); break;
      case 6: sum += (uint64_t)syscall(SYS_madvise, a & ~4095ull, a & 0xffff, 4); break;
      default: sum += (uint64_t)syscall(SYS_openat, -100, round % 64 == 7 ? (void*)"/nothing/there" : (void*)a, 0); break;
    }
  }
  printf("%llx\n", (unsigned long long)sum);
}

// Takes memory until there is no more; its own limit must hold it.
static void hog(void) {
  enum { kBlock = 1 << 20 };
  for (long n = 0;; n++) {
    char* block = mmap(NULL, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) exit(7);
    for (long at = 0; at < kBlock; at += 4096) block[at] = (char)n;
  }
}

static void flood(long count) {
  static char line[1000];
  memset(line, 'x', sizeof line);
  for (long round = 0; round < count; round++) {
    if (write(1 + (round & 1), line, sizeof line) < 0) exit(8);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  state = strtoull(argv[2], NULL, 0);
  long count = strtol(argv[3], NULL, 0);
  const char* mode = argv[1];
  if (!strcmp(mode, "words")) words(1);
  if (!strcmp(mode, "many-words")) catch_all(), words(count / 1000 + 2);
  if (!strcmp(mode, "pointers")) pointers(count / 100);
  if (!strcmp(mode, "endless")) endless();
  if (!strcmp(mode, "sleep")) sleep(1000);
  if (!strcmp(mode, "deep")) return deeper("x");
  if (!strcmp(mode, "calls")) calls(count);
  if (!strcmp(mode, "hog")) hog();
  if (!strcmp(mode, "flood")) flood(count / 1000);
  return 0;
}
