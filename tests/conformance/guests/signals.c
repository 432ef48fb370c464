// Signals that a program raises itself, by system call or by a fault, and what its handlers see.
#include "guest.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPage = 4096 };

static char* page;
static volatile int handled, overflowing;
static sigjmp_buf back;

static void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  REQUIRE(sigaction(signal, &action, NULL) == 0);
}

// The code of SIGILL and of a stack overflow is left out: QEMU's is not the kernel's.
static void say(int signal, siginfo_t* info) {
  printf("  signal %d", signal);
  if (signal != SIGILL && !overflowing) printf(", code %d", info->si_code);
  printf("\n");
  handled++;
}

// Give the page back its permission; the access is tried again.
static void grant(int signal, siginfo_t* info, void* context) {
  (void)context;
  say(signal, info);
  printf("  at offset %ld\n", (long)((char*)info->si_addr - page));
  REQUIRE(mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0);
}

// Go on after the instruction, with 77 in x0.
static void step_over(int signal, siginfo_t* info, void* context) {
  ucontext_t* user = context;
  say(signal, info);
  printf("  at the instruction: %d\n", (uintptr_t)info->si_addr == user->uc_mcontext.pc);
  user->uc_mcontext.pc += 4;
  user->uc_mcontext.regs[0] = 77;
}

static void leave(int signal, siginfo_t* info, void* context) {
  (void)context;
  say(signal, info);
  siglongjmp(back, signal);
}

static void note(int signal, siginfo_t* info, void* context) {
  (void)context;
  say(signal, info);
}

static void repaired_faults(void) {
  page = mmap(NULL, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install(SIGSEGV, grant, 0);
  printf("read of a page without access\n");
  REQUIRE(*(volatile char*)(page + 100) == 0);
  REQUIRE(mprotect(page, kPage, PROT_READ) == 0);
  printf("store to a read-only page\n");
  *(volatile long*)(page + 200) = 12345;
  REQUIRE(*(volatile long*)(page + 200) == 12345);
  REQUIRE(mprotect(page, kPage, PROT_NONE) == 0);
  printf("pair load, registers unchanged before it is repeated\n");
  long a = 1, b = 2;
  __asm__ volatile("ldp %0, %1, [%2]" : "+&r"(a), "+&r"(b) : "r"(page + 200));
  REQUIRE(a == 12345 && b == 0);
}

static long illegal(void) {
  long result;
  __asm__ volatile("mov x0, 0\n udf 5\n mov %0, x0" : "=r"(result) : : "x0");
  return result;
}

static long breakpoint(void) {
  long result;
  __asm__ volatile("mov x0, 0\n brk 7\n mov %0, x0" : "=r"(result) : : "x0");
  return result;
}

// Flags and registers survive a handler; x9 to x15 and v8 stand for the rest.
static void state_survives(void) {
  unsigned long flags, sum, vector;
  __asm__ volatile(
      "mov x9, 9\n mov x10, 10\n mov x11, 11\n mov x15, 15\n movz x12, 0x4242\n fmov d8, x12\n"
      "mov x12, 0x80000000\n adds w12, w12, w12\n"  // Z, C and V
      "udf 9\n"
      "mrs %0, nzcv\n add %1, x9, x10\n add %1, %1, x11\n add %1, %1, x15\n fmov %2, d8\n"
      : "=&r"(flags), "=&r"(sum), "=&r"(vector)
      :
      : "x0", "x9", "x10", "x11", "x12", "x15", "cc");
  printf("after a handler: flags %lx, sum %lu, vector %lx\n", flags, sum, vector);
}

static void stepped_over(void) {
  install(SIGILL, step_over, 0);
  printf("undefined instruction\n");
  SHOW(illegal());
  state_survives();
  install(SIGTRAP, step_over, 0);
  printf("breakpoint\n");
  SHOW(breakpoint());
}

static void not_mapped(void) {
  install(SIGSEGV, leave, 0);
  printf("load from an address without a page\n");
  if (sigsetjmp(back, 1) == 0) (void)*(volatile int*)nowhere;
  printf("store to one\n");
  if (sigsetjmp(back, 1) == 0) *(volatile int*)nowhere = 1;
  printf("call of one\n");
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))nowhere)();
  printf("call of a page that is not executable\n");
  if (sigsetjmp(back, 1) == 0) ((void (*)(void))page)();
  install(SIGBUS, leave, 0);
  printf("misaligned exclusive\n");
  if (sigsetjmp(back, 1) == 0) __asm__ volatile("ldxr x9, [%0]" : : "r"(page + 1) : "x9", "memory");
}

static int sink;

__attribute__((noinline)) static int deeper(int depth) {
  volatile char block[1024];
  block[depth & 1023] = (char)depth;
  int below = depth < 0 ? 0 : deeper(depth + 1);
  return below + block[depth & 1023];
}

static void other_stack(void) {
  static char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, old;
  SHOW(sigaltstack(&alternate, &old));
  printf("the old one is disabled: %d\n", old.ss_flags == SS_DISABLE);
  install(SIGSEGV, leave, SA_ONSTACK);
  printf("stack overflow\n");
  overflowing = 1;
  if (sigsetjmp(back, 1) == 0) sink = deeper(0);
  overflowing = 0;
  alternate.ss_flags = SS_DISABLE;
  SHOW(sigaltstack(&alternate, NULL));
}

static void on_stack(int signal, siginfo_t* info, void* context) {
  (void)context;
  char local;
  stack_t now;
  sigaltstack(NULL, &now);
  say(signal, info);
  printf("  on the other stack: %d %d\n", now.ss_flags == SS_ONSTACK,
         &local >= (char*)now.ss_sp && &local < (char*)now.ss_sp + now.ss_size);
}

static void masks(void) {
  sigset_t set, old, pending;
  install(SIGUSR1, note, 0);
  install(SIGUSR2, note, SA_RESETHAND);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  SHOW(sigprocmask(SIG_BLOCK, &set, &old));
  int before = handled;
  SHOW(raise(SIGUSR1));
  sigpending(&pending);
  printf("pending %d, handled %d\n", sigismember(&pending, SIGUSR1), handled - before);
  SHOW(sigprocmask(SIG_SETMASK, &old, NULL));
  printf("handled %d\n", handled - before);
  SHOW(kill(getpid(), SIGUSR2));
  struct sigaction action;
  sigaction(SIGUSR2, NULL, &action);
  printf("reset to default: %d\n", action.sa_handler == SIG_DFL);
  signal(SIGUSR1, SIG_IGN);
  SHOW(raise(SIGUSR1));
  SHOW(sigaction(SIGKILL, &action, NULL));
  SHOW(kill(getpid(), 0));
  SHOW(kill(getpid(), 99));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  repaired_faults();
  stepped_over();
  not_mapped();
  other_stack();
  static char stack[65536];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  install(SIGUSR1, on_stack, SA_ONSTACK);
  raise(SIGUSR1);
  masks();
  volatile int zero = 0;
  printf("division by zero: %d\n", 7 / zero);
  return 0;
}
