// What a process finds at its start: arguments, the auxiliary vector, stack, registers of the system.
#include "guest.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char _start;

static void auxiliary(void) {
  printf("page size %lu, ticks %lu\n", getauxval(AT_PAGESZ), getauxval(AT_CLKTCK));
  printf("capabilities %lx\n", getauxval(AT_HWCAP));
  printf("flags %lu, secure %lu\n", getauxval(AT_FLAGS), getauxval(AT_SECURE));
  printf("entry: %d\n", getauxval(AT_ENTRY) == (unsigned long)&_start);
  const Elf64_Phdr* header = (void*)getauxval(AT_PHDR);
  printf("program headers of %lu bytes\n", getauxval(AT_PHENT));
  int loads = 0;
  for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++) loads += header[i].p_type == PT_LOAD;
  printf("segments %d\n", loads);
  const unsigned char* random = (void*)getauxval(AT_RANDOM);
  unsigned sum = 0;
  for (int i = 0; i < 16; i++) sum += random[i];
  printf("random bytes: %d\n", sum != 0);
  const char* name = (void*)getauxval(AT_EXECFN);
  printf("program name: %d\n", name && strstr(name, "start") != NULL);
  printf("user %d %d\n", getauxval(AT_UID) == getuid(), getauxval(AT_EGID) == getegid());
}

static unsigned long data_cache_zero(void) {
  unsigned long value;
  __asm__("mrs %0, dczid_el0" : "=r"(value));
  return value;
}

static unsigned long cache_type(void) {
  unsigned long value;
  __asm__("mrs %0, ctr_el0" : "=r"(value));
  return value;
}

static unsigned long main_id(void) {
  unsigned long value;
  __asm__("mrs %0, midr_el1" : "=r"(value));
  return value;
}

static void clocks(void) {
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (volatile int i = 0; i < 100000; i++) {
  }
  clock_gettime(CLOCK_MONOTONIC, &after);
  long passed = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
  printf("time passes: %d\n", passed > 0);
  SHOW(clock_gettime(12345, &before));
  printf("resolution: %d\n", clock_getres(CLOCK_REALTIME, &before) == 0 && before.tv_sec == 0);
}

int main(int argc, char** argv, char** envp) {
  printf("%d arguments\n", argc);
  for (int i = 1; i < argc; i++) printf("[%s]\n", argv[i]);
  printf("closed by NULL: %d\n", argv[argc] == NULL && envp == argv + argc + 1);
  printf("stack aligned: %d\n", (uintptr_t)__builtin_frame_address(0) % 16 == 0);
  auxiliary();
  printf("dczid %lx, ctr %lx, midr %lx\n", data_cache_zero(), cache_type(), main_id());
  struct utsname system;
  SHOW(uname(&system));
  printf("%s %s\n", system.sysname, system.machine);
  struct rlimit limit;
  SHOW(getrlimit(RLIMIT_STACK, &limit));
  printf("process: %d %d\n", getpid() > 0, getpid() == gettid());
  clocks();
  return argc;
}
