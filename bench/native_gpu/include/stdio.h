// What the benchmark guests take from <stdio.h>; library.h has the bodies.
#ifndef KVRM_NATIVE_GPU_STDIO_H
#define KVRM_NATIVE_GPU_STDIO_H

typedef struct FILE FILE;
#define stderr ((FILE*)0)

__attribute__((format(printf, 1, 2))) static inline int printf(const char* format, ...);
// There is one buffer for everything that is printed.
#define fprintf(file, ...) ((void)(file), printf(__VA_ARGS__))

#endif
