// Thread-local variables of a static program.
#include "guest.h"

static __thread int counter = 41;
static __thread long zero;
static __thread char text[32] = "thread local";
static __thread struct {
  char bytes[64];
} aligned __attribute__((aligned(64))) = {{1, 2, 3}};
__thread int* self = &(int){0};

int main(void) {
  counter++;
  zero -= 5;
  text[0] = 'T';
  aligned.bytes[63] = 9;
  printf("%d %ld %s %d %d\n", counter, zero, text, aligned.bytes[2], aligned.bytes[63]);
  printf("aligned: %lu\n", (unsigned long)((uintptr_t)&aligned % 64));
  char* thread = __builtin_thread_pointer();
  printf("above the thread pointer: %d\n", (char*)&counter > thread && (char*)&counter < thread + 4096);
  printf("errno is one, too: %d\n", (errno = 7, *__errno_location()));
  return self == NULL;
}
