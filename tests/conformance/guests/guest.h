// What the conformance guests share.
#ifndef KVRM_GUEST_H
#define KVRM_GUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Print a result by its own text: SHOW(lseek(fd, 0, SEEK_END)) -> "lseek(fd, 0, SEEK_END) = 12".
// A result of -1 is followed by errno, reset before.
#define SHOW(expression)                                                \
  do {                                                                  \
    errno = 0;                                                          \
    long shown_ = (long)(expression);                                   \
    printf("%s = %ld", #expression, shown_);                            \
    if (shown_ == -1 && errno) printf(" (%s)", strerrorname_np(errno)); \
    printf("\n");                                                       \
  } while (0)

// End the program when something that must hold does not.
#define REQUIRE(condition)                                                \
  do {                                                                    \
    if (!(condition)) {                                                   \
      printf("%s:%d: not so: %s\n", __FILE_NAME__, __LINE__, #condition); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

// An address where nothing is, that the compiler cannot see through.
static void* volatile nowhere __attribute__((unused)) = (void*)8;

static inline uint32_t random_next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

#endif
