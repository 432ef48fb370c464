// The ways a program ends: ends HOW.
#include "guest.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static void goodbye(void) { printf("goodbye\n"); }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  atexit(goodbye);
  printf("%s\n", how);
  if (!strcmp(how, "return")) return 300;
  if (!strcmp(how, "exit")) exit(-1);
  if (!strcmp(how, "quick")) _exit(7);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "load")) return *(volatile int*)nowhere;
  if (!strcmp(how, "store")) *(volatile int*)main = 1;
  if (!strcmp(how, "jump")) ((void (*)(void))nowhere)();
  if (!strcmp(how, "undefined")) __asm__ volatile("udf 0");
  if (!strcmp(how, "break")) __asm__ volatile("brk 1");
  if (!strcmp(how, "halt")) __asm__ volatile("hlt 1");
  if (!strcmp(how, "pc")) __asm__ volatile("mov x9, 2\n add x9, x9, %0\n br x9" : : "r"(main) : "x9");
  if (!strcmp(how, "align")) __asm__ volatile("ldar x9, [%0]" : : "r"((char*)&argc + 1) : "x9");
  if (!strcmp(how, "privileged")) __asm__ volatile("mrs x9, ttbr0_el1" : : : "x9");
  if (!strcmp(how, "ignored")) {
    signal(SIGSEGV, SIG_IGN);
    return *(volatile int*)nowhere;
  }
  if (!strcmp(how, "blocked")) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return *(volatile int*)nowhere;
  }
  if (argc > 2 && !strcmp(how, "raise")) raise(atoi(argv[2]));
  return 0;
}
