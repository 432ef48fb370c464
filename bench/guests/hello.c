// The smallest program: its time is the start-up time.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
