// setjmp and longjmp: values, nesting, registers that must survive, signal masks.
#include "guest.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf outer, inner;

__attribute__((noinline)) static void thrower(int depth, int value) {
  volatile char padding[64] = {0};
  padding[depth] = (char)value;
  if (depth > 0) {
    thrower(depth - 1, value);
  } else if (value >= 0) {
    longjmp(value & 1 ? outer : inner, padding[0]);
  }
}

static int attempt(int value) {
  volatile int tries = 0;
  int got = setjmp(inner);
  tries++;
  if (got == 0) thrower(10, value);
  return got * 10 + tries;
}

int main(void) {
  long kept = 123456789;
  for (volatile int value = 0; value < 8; value++) {
    int got = setjmp(outer);
    if (got) {
      printf("outer %d, kept %ld\n", got, kept);
    } else {
      printf("inner %d\n", attempt(value));
    }
  }
  sigset_t set;
  sigjmp_buf place;
  for (volatile int save = 0; save < 2; save++) {
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    if (sigsetjmp(place, save) == 0) {
      sigaddset(&set, SIGINT);
      sigprocmask(SIG_BLOCK, &set, NULL);
      siglongjmp(place, 1);
    }
    sigprocmask(SIG_SETMASK, NULL, &set);
    printf("mask saved %d: blocked %d\n", save, sigismember(&set, SIGINT));
  }
  return 0;
}
