// A C library for one run of a benchmark guest: memory from a block that is given, text into another one. The guests
// need no more than this of printf, malloc, strtoul and exit; what is not here does not compile or shows in the output.
#ifndef KVRM_NATIVE_GPU_LIBRARY_H
#define KVRM_NATIVE_GPU_LIBRARY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

static Run* the_run;

static inline void exit(int status) {
  the_run->status = status;
  leave();
}

static inline void* malloc(size_t bytes) {
  const uint64_t whole = (bytes + 15) / 16 * 16;
  if (whole < bytes || whole > the_run->memory_bytes - the_run->memory_used) return NULL;
  void* block = the_run->memory + the_run->memory_used;
  the_run->memory_used += whole;
  return block;
}

static inline unsigned long strtoul(const char* text, char** end, int base) {
  if (end || (base != 0 && base != 10)) exit(1);  // no caller asks for it
  unsigned long number = 0;
  while (*text >= '0' && *text <= '9') number = number * 10 + (unsigned long)(*text++ - '0');
  return number;
}

static inline void print_char(char c) {
  if (the_run->text_used < the_run->text_bytes) the_run->text[the_run->text_used] = c;
  the_run->text_used++;
}

static inline void print_hexadecimal(unsigned long long number, int width, char fill) {
  char digits[16];
  int count = 0;
  do digits[count++] = "0123456789abcdef"[number % 16];
  while (number /= 16);
  for (; width > count; width--) print_char(fill);
  while (count) print_char(digits[--count]);
}

// %s, and %x of int, long and long long with a width. Any other conversion is printed as it stands.
static inline int printf(const char* format, ...) {
  const uint64_t before = the_run->text_used;
  va_list values;
  va_start(values, format);
  while (*format) {
    const char* at = format;
    if (*at++ != '%') {
      print_char(*format++);
      continue;
    }
    const char fill = *at == '0' ? '0' : ' ';
    int width = 0, longs = 0;
    for (; *at >= '0' && *at <= '9'; at++) width = width * 10 + (*at - '0');
    for (; *at == 'l'; at++) longs++;
    if (*at == 's') {
      for (const char* text = va_arg(values, const char*); *text; text++) print_char(*text);
    } else if (*at == 'x') {
      print_hexadecimal(longs ? va_arg(values, unsigned long long) : va_arg(values, unsigned), width, fill);
    } else {
      print_char('%');
      at = format;
    }
    format = at + 1;
  }
  va_end(values);
  return (int)(the_run->text_used - before);
}

#endif
