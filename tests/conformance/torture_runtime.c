// The C library of the gcc.c-torture tests: just what they call, on three system calls.
// Everything but _start is weak, because many tests bring their own version of a function, often
// one that aborts when it is called from the wrong place; so these functions do not call each other.
// printf knows no floating point; the set that needs it is built with the C library.

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRARY __attribute__((weak))

enum { kSysWrite = 64, kSysExitGroup = 94, kSysGetpid = 172, kSysKill = 129 };
enum { kSigabrt = 6, kHeapBytes = 16 << 20 };

static long system_call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}

int main(int argc, char** argv, char** envp);
void exit(int status);

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  ldr x0, [sp]\n"
    "  add x1, sp, 8\n"
    "  add x2, x1, x0, lsl 3\n"
    "  add x2, x2, 8\n"
    "  mov x29, 0\n"
    "  mov x30, 0\n"
    "  bl main\n"
    "  bl exit\n");

LIBRARY void exit(int status) {
  for (;;) system_call(kSysExitGroup, status, 0, 0);
}

LIBRARY void _exit(int status) {
  for (;;) system_call(kSysExitGroup, status, 0, 0);
}

LIBRARY void abort(void) {
  system_call(kSysKill, system_call(kSysGetpid, 0, 0, 0), kSigabrt, 0);
  for (;;) system_call(kSysExitGroup, 134, 0, 0);
}

// Memory and strings.

LIBRARY void* memcpy(void* to, const void* from, size_t n) {
  char* t = to;
  const char* f = from;
  while (n--) *t++ = *f++;
  return to;
}

LIBRARY void* memmove(void* to, const void* from, size_t n) {
  char* t = to;
  const char* f = from;
  if ((uintptr_t)t - (uintptr_t)f >= n) {
    while (n--) *t++ = *f++;
  } else {
    while (n--) t[n] = f[n];
  }
  return to;
}

LIBRARY void* mempcpy(void* to, const void* from, size_t n) {
  char* t = to;
  const char* f = from;
  while (n--) *t++ = *f++;
  return t;
}

LIBRARY void* memset(void* to, int byte, size_t n) {
  char* t = to;
  while (n--) *t++ = (char)byte;
  return to;
}

LIBRARY int memcmp(const void* left, const void* right, size_t n) {
  const unsigned char *l = left, *r = right;
  for (; n; n--, l++, r++) {
    if (*l != *r) return *l - *r;
  }
  return 0;
}

LIBRARY void* memchr(const void* where, int byte, size_t n) {
  const unsigned char* w = where;
  for (; n; n--, w++) {
    if (*w == (unsigned char)byte) return (void*)w;
  }
  return NULL;
}

LIBRARY size_t strlen(const char* s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

LIBRARY size_t strnlen(const char* s, size_t limit) {
  size_t n = 0;
  while (n < limit && s[n]) n++;
  return n;
}

LIBRARY int strncmp(const char* l, const char* r, size_t n) {
  for (; n; n--, l++, r++) {
    if (*l != *r) return (unsigned char)*l - (unsigned char)*r;
    if (!*l) break;
  }
  return 0;
}

LIBRARY int strcmp(const char* l, const char* r) {
  for (; *l && *l == *r; l++) r++;
  return (unsigned char)*l - (unsigned char)*r;
}

LIBRARY char* stpcpy(char* to, const char* from) {
  while ((*to = *from++)) to++;
  return to;
}

LIBRARY char* strcpy(char* to, const char* from) {
  for (char* t = to; (*t++ = *from++);) {
  }
  return to;
}

LIBRARY char* strncpy(char* to, const char* from, size_t n) {
  size_t i = 0;
  for (; i < n && from[i]; i++) to[i] = from[i];
  for (; i < n; i++) to[i] = 0;
  return to;
}

LIBRARY char* strcat(char* to, const char* from) {
  char* t = to;
  while (*t) t++;
  while ((*t++ = *from++)) {
  }
  return to;
}

LIBRARY char* strchr(const char* s, int c) {
  for (;; s++) {
    if (*s == (char)c) return (char*)s;
    if (!*s) return NULL;
  }
}

LIBRARY char* strrchr(const char* s, int c) {
  const char* last = NULL;
  for (;; s++) {
    if (*s == (char)c) last = s;
    if (!*s) return (char*)last;
  }
}

static size_t span(const char* s, const char* set, int inside) {
  size_t n = 0;
  for (; s[n]; n++) {
    const char* c = set;
    while (*c && *c != s[n]) c++;
    if ((*c != 0) != inside) break;
  }
  return n;
}

LIBRARY size_t strspn(const char* s, const char* set) { return span(s, set, 1); }
LIBRARY size_t strcspn(const char* s, const char* set) { return span(s, set, 0); }

LIBRARY int isprint(int c) { return c >= ' ' && c < 127; }

// The heap: taken from a fixed block, never freed.

static union {
  char bytes[kHeapBytes];
  long double aligned;
} heap;
static size_t heap_used;

LIBRARY void* malloc(size_t n) {
  n = (n + 15) & ~(size_t)15;
  if (n > kHeapBytes - heap_used) return NULL;
  heap_used += n;
  return heap.bytes + heap_used - n;
}

LIBRARY void* calloc(size_t count, size_t size) { return malloc(count * size); }

LIBRARY void* realloc(void* old, size_t n) {
  char* fresh = malloc(n);
  // The old size is unknown; whatever follows the block is ours to read.
  for (size_t i = 0; fresh && old && i < n; i++) fresh[i] = ((char*)old)[i];
  return fresh;
}

LIBRARY void free(void* block) { (void)block; }

LIBRARY void qsort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*)) {
  char* items = base;
  for (size_t i = 1; i < count; i++) {
    for (char* p = items + i * size; p > items && compare(p - size, p) > 0; p -= size) {
      for (size_t k = 0; k < size; k++) {
        char byte = p[k];
        p[k] = p[k - size];
        p[k - size] = byte;
      }
    }
  }
}

// setjmp and longjmp: x19-x30, sp and, where code may use them, d8-d15.

#ifdef __ARM_FP
#define EACH_FP_PAIR(op) \
  op " d8, d9, [x0, 104]\n" op " d10, d11, [x0, 120]\n" op " d12, d13, [x0, 136]\n" op " d14, d15, [x0, 152]\n"
#else
#define EACH_FP_PAIR(op)
#endif

__asm__(".weak _setjmp, longjmp\n"
        "_setjmp:\n"
        "  stp x19, x20, [x0]\n"
        "  stp x21, x22, [x0, 16]\n"
        "  stp x23, x24, [x0, 32]\n"
        "  stp x25, x26, [x0, 48]\n"
        "  stp x27, x28, [x0, 64]\n"
        "  stp x29, x30, [x0, 80]\n"
        "  mov x9, sp\n"
        "  str x9, [x0, 96]\n"
        EACH_FP_PAIR("stp")
        "  mov w0, 0\n"
        "  ret\n"
        "longjmp:\n"
        "  ldp x19, x20, [x0]\n"
        "  ldp x21, x22, [x0, 16]\n"
        "  ldp x23, x24, [x0, 32]\n"
        "  ldp x25, x26, [x0, 48]\n"
        "  ldp x27, x28, [x0, 64]\n"
        "  ldp x29, x30, [x0, 80]\n"
        "  ldr x9, [x0, 96]\n"
        EACH_FP_PAIR("ldp")
        "  mov sp, x9\n"
        "  cmp w1, 0\n"
        "  csinc w0, w1, wzr, ne\n"
        "  ret\n");

// Output. A file is its descriptor's number.

typedef struct {
  int descriptor;
} File;
static File out = {1}, error_out = {2};
LIBRARY File* stdout = &out;
LIBRARY File* stderr = &error_out;

typedef struct {
  char* text;    // NULL: write to the file
  size_t space;  // characters that fit into text, with the final 0
  size_t length;
  File* file;
} Sink;

static void put(Sink* sink, char c) {
  if (!sink->text) {
    system_call(kSysWrite, sink->file->descriptor, (long)&c, 1);
  } else if (sink->length + 1 < sink->space) {
    sink->text[sink->length] = c;
  }
  sink->length++;
}

typedef struct {
  int left, zero, alternate;  // the flags - 0 #
  char sign;                  // '+' or ' ' before a number that is not negative
  int width, precision;       // -1: none given
  int size;                   // of the argument in bytes
} Spec;

static const char* read_spec(Spec* spec, const char* f, va_list* list) {
  *spec = (Spec){.precision = -1, .size = sizeof(int)};
  for (;; f++) {
    if (*f == '-')
      spec->left = 1;
    else if (*f == '0')
      spec->zero = 1;
    else if (*f == '#')
      spec->alternate = 1;
    else if (*f == '+' || *f == ' ')
      spec->sign = *f;
    else
      break;
  }
  if (*f == '*') spec->width = va_arg(*list, int), f++;
  while (*f >= '0' && *f <= '9') spec->width = spec->width * 10 + *f++ - '0';
  if (*f == '.') {
    spec->precision = 0;
    if (*++f == '*') spec->precision = va_arg(*list, int), f++;
    while (*f >= '0' && *f <= '9') spec->precision = spec->precision * 10 + *f++ - '0';
  }
  for (;; f++) {
    if (*f == 'l' || *f == 'z' || *f == 'j' || *f == 't')
      spec->size = sizeof(long);
    else if (*f == 'h')
      spec->size /= 2;
    else
      return f;
  }
}

static void put_padded(Sink* sink, const char* text, int n, int width, int left) {
  for (; !left && width > n; width--) put(sink, ' ');
  for (int i = 0; i < n; i++) put(sink, text[i]);
  for (; left && width > n; width--) put(sink, ' ');
}

static void put_number(Sink* sink, Spec spec, unsigned long value, unsigned base, const char* digits) {
  char text[128], *end = text + sizeof text, *p = end;
  int least = spec.precision;
  if (least < 0) least = spec.zero && !spec.left ? spec.width - (spec.sign != 0) : 1;
  int prefixed = spec.alternate && value && base == 16;
  for (; value; value /= base) *--p = digits[value % base];
  if (spec.alternate && base == 8 && least <= end - p) least = (int)(end - p) + 1;
  while (end - p < least && p > text + 4) *--p = '0';
  if (prefixed) *--p = digits[16], *--p = '0';
  if (spec.sign) *--p = spec.sign;
  put_padded(sink, p, (int)(end - p), spec.width, spec.left);
}

static void put_text(Sink* sink, Spec spec, const char* s) {
  int n = 0;
  if (!s) s = "(null)";
  while (n != spec.precision && s[n]) n++;
  put_padded(sink, s, n, spec.width, spec.left);
}

static int format(Sink sink, const char* f, va_list from) {
  va_list list;
  va_copy(list, from);
  for (; *f; f++) {
    if (*f != '%') {
      put(&sink, *f);
      continue;
    }
    Spec spec;
    f = read_spec(&spec, f + 1, &list);
    int unused = 64 - 8 * spec.size;
    switch (*f) {
      case 'd':
      case 'i': {
        long value = (long)(va_arg(list, unsigned long) << unused) >> unused;
        if (value < 0) spec.sign = '-';
        put_number(&sink, spec, value < 0 ? -(unsigned long)value : (unsigned long)value, 10, "0123456789");
        break;
      }
      case 'u':
      case 'o':
      case 'x':
      case 'X': {
        unsigned long value = va_arg(list, unsigned long) << unused >> unused;
        spec.sign = 0;
        put_number(&sink, spec, value,
                   *f == 'u'   ? 10
                   : *f == 'o' ? 8
                               : 16,
                   *f == 'X' ? "0123456789ABCDEFX" : "0123456789abcdefx");
        break;
      }
      case 'p':
        spec.alternate = 1;
        put_number(&sink, spec, va_arg(list, unsigned long), 16, "0123456789abcdefx");
        break;
      case 's': put_text(&sink, spec, va_arg(list, const char*)); break;
      case 'c': {
        char c = (char)va_arg(list, int);
        put_padded(&sink, &c, 1, spec.width, spec.left);
        break;
      }
      default: put(&sink, *f);
    }
  }
  va_end(list);
  if (sink.text && sink.space) sink.text[sink.length < sink.space ? sink.length : sink.space - 1] = 0;
  return (int)sink.length;
}

static Sink file_sink(File* file) { return (Sink){.file = file}; }

static Sink text_sink(char* text, size_t space) {
  static char none;
  return (Sink){.text = text ? text : &none, .space = text ? space : 0};
}

LIBRARY int vfprintf(File* file, const char* f, va_list list) { return format(file_sink(file), f, list); }
LIBRARY int vprintf(const char* f, va_list list) { return format(file_sink(&out), f, list); }
LIBRARY int vsnprintf(char* text, size_t space, const char* f, va_list list) {
  return format(text_sink(text, space), f, list);
}
LIBRARY int vsprintf(char* text, const char* f, va_list list) { return format(text_sink(text, SIZE_MAX), f, list); }

#define FORMATTED(sink)               \
  va_list list;                       \
  va_start(list, f);                  \
  int length = format(sink, f, list); \
  va_end(list);                       \
  return length

LIBRARY int printf(const char* f, ...) { FORMATTED(file_sink(&out)); }
LIBRARY int fprintf(File* file, const char* f, ...) { FORMATTED(file_sink(file)); }
LIBRARY int sprintf(char* text, const char* f, ...) { FORMATTED(text_sink(text, SIZE_MAX)); }
LIBRARY int snprintf(char* text, size_t space, const char* f, ...) { FORMATTED(text_sink(text, space)); }

LIBRARY size_t fwrite(const void* data, size_t size, size_t count, File* file) {
  long written = system_call(kSysWrite, file->descriptor, (long)data, (long)(size * count));
  return written == (long)(size * count) ? count : 0;
}

LIBRARY int fputc(int c, File* file) {
  char byte = (char)c;
  system_call(kSysWrite, file->descriptor, (long)&byte, 1);
  return (unsigned char)byte;
}

LIBRARY int putchar(int c) { return fputc(c, &out); }

LIBRARY int fputs(const char* s, File* file) { return (int)fwrite(s, 1, strlen(s), file); }

LIBRARY int puts(const char* s) {
  fputs(s, &out);
  return fputc('\n', &out);
}

LIBRARY int fflush(File* file) { return (void)file, 0; }

LIBRARY void __assert_fail(const char* what, const char* file, unsigned line, const char* function) {
  fprintf(&error_out, "%s:%u: %s: assertion failed: %s\n", file, line, function, what);
  abort();
}

// libgcc's outline atomics ask for the hardware capabilities: none, so they use exclusives.
LIBRARY unsigned long __getauxval(unsigned long type) { return (void)type, 0; }
