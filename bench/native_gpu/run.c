// A benchmark guest as a program for one GPU thread: the guest's own text (GUEST names its file) with this library, as
// one kernel. For the host the same is a function, so that tests can run it.
#include "library.h"

#define main guest_main
#include GUEST
#undef main

enum { kMostArguments = 8 };

#ifdef __NVPTX__
void leave(void) {
  __asm__ volatile("exit;");
  __builtin_unreachable();
}
#endif

// The two kinds of main.
static inline int call_plain(int (*guest)(void), int count, char** arguments) {
  (void)count, (void)arguments;
  return guest();
}
static inline int call_with_arguments(int (*guest)(int, char**), int count, char** arguments) {
  return guest(count, arguments);
}
#define CALL(guest, ...) _Generic(guest, int (*)(void): call_plain, default: call_with_arguments)(guest, __VA_ARGS__)

void native_run(Run* run) {
  char* arguments[kMostArguments + 1];
  const char* at = run->arguments;
  int count = 0;
  for (; count < (int)run->argument_count && count < kMostArguments; count++) {
    arguments[count] = (char*)at;
    while (*at++) {
    }
  }
  arguments[count] = NULL;
  if (!count) return;
  the_run = run;
  exit(CALL(guest_main, count, arguments));
}
