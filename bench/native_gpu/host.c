// Runs a guest with the library of native_gpu on the host: what a GPU thread would print, for tests.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static Run run;

_Noreturn void leave(void) {
  fwrite(run.text, 1, run.text_used < run.text_bytes ? run.text_used : run.text_bytes, stdout);
  exit((int)run.status);
}

int main(int count, char** arguments) {
  static char memory[64 << 20] __attribute__((aligned(16))), text[4096], joined[1024];
  size_t size = 0;
  for (int i = 0; i < count; i++) {
    const size_t length = strlen(arguments[i]) + 1;
    if (length > sizeof joined - size) return 2;
    memcpy(joined + size, arguments[i], length);
    size += length;
  }
  run = (Run){memory, sizeof memory, text, sizeof text, joined, (uint64_t)count, 0, 0, -1};
  native_run(&run);
  return 2;  // it leaves by leave()
}
