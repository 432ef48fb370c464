// What the benchmark guests take from <stdlib.h>; library.h has the bodies.
#ifndef KVRM_NATIVE_GPU_STDLIB_H
#define KVRM_NATIVE_GPU_STDLIB_H

#include <stddef.h>

static inline void* malloc(size_t bytes);
static inline unsigned long strtoul(const char* text, char** end, int base);
_Noreturn static inline void exit(int status);

#endif
