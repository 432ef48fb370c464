// What one run of a guest is given and what comes of it. bench/gpu_native.py knows the layout.
#ifndef KVRM_NATIVE_GPU_RUN_H
#define KVRM_NATIVE_GPU_RUN_H

#include <stdint.h>

typedef struct {
  char* memory;  // malloc's
  uint64_t memory_bytes;
  char* text;  // what is printed
  uint64_t text_bytes;
  const char* arguments;  // argv, one string behind the other
  uint64_t argument_count;
  uint64_t memory_used;
  uint64_t text_used;  // more than text_bytes: some was lost
  int64_t status;
} Run;

#ifdef __NVPTX__
#define ENTRY __attribute__((nvptx_kernel))
#else
#define ENTRY
#endif

// Runs the guest. Without arguments, not even the program's name, it does nothing: that warms up.
ENTRY void native_run(Run* run);

// Ends the program from any depth; each target has its own way.
_Noreturn void leave(void);

#endif
