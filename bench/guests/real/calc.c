// A small language: tokenizer, recursive-descent compiler to a stack machine, and the machine. calc PASSES.
//
// Each pass writes a program as text, with numbers of its own, compiles it and runs it.
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "../bench.h"

typedef enum { END, NUMBER, NAME, WHILE, IF, ELSE, PRINT, SYMBOL } Kind;

typedef struct {
  Kind kind;
  char text[16];
  int64_t number;
} Token;

typedef enum {
  PUSH,
  LOAD,
  STORE,
  ADD,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
  REMAINDER,
  LESS,
  EQUAL,
  JUMP,
  JUMP_UNLESS,
  EMIT,
  STOP
} Operation;

typedef struct {
  Operation operation;
  int64_t operand;
} Instruction;

static const char* source;
static Token token;
static Instruction code[1024];
static int length;
static char names[64][16];
static int variables;

static _Noreturn void fail(const char* message) {
  fprintf(stderr, "calc: %s at %.20s\n", message, source);
  exit(1);
}

static Kind keyword(const char* text) {
  static const struct {
    const char* text;
    Kind kind;
  } known[] = {{"while", WHILE}, {"if", IF}, {"else", ELSE}, {"print", PRINT}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(text, known[i].text) == 0) return known[i].kind;
  return NAME;
}

static void next(void) {
  while (isspace((unsigned char)*source)) source++;
  token = (Token){.kind = END};
  if (!*source) return;
  if (isdigit((unsigned char)*source)) {
    char* end;
    token.kind = NUMBER;
    token.number = strtoll(source, &end, 0);
    source = end;
    return;
  }
  size_t size = 0;
  if (isalpha((unsigned char)*source)) {
    while (isalnum((unsigned char)source[size]) || source[size] == '_') size++;
    if (size >= sizeof token.text) fail("a long name");
    memcpy(token.text, source, size);
    token.kind = keyword(token.text);
  } else {
    size = source[0] == '=' && source[1] == '=' ? 2 : 1;
    memcpy(token.text, source, size);
    token.kind = SYMBOL;
  }
  source += size;
}

static int emit(Operation operation, int64_t operand) {
  if (length == 1024) fail("a long program");
  code[length] = (Instruction){operation, operand};
  return length++;
}

static int accept(const char* symbol) {
  if (token.kind != SYMBOL || strcmp(token.text, symbol) != 0) return 0;
  next();
  return 1;
}

static void expect(const char* symbol) {
  if (!accept(symbol)) fail(symbol);
}

static int variable(const char* name) {
  for (int i = 0; i < variables; i++)
    if (strcmp(names[i], name) == 0) return i;
  if (variables == 64) fail("many names");
  strcpy(names[variables], name);
  return variables++;
}

static void expression(void);

static void atom(void) {
  if (token.kind == NUMBER) {
    emit(PUSH, token.number);
    next();
  } else if (token.kind == NAME) {
    emit(LOAD, variable(token.text));
    next();
  } else {
    expect("(");
    expression();
    expect(")");
  }
}

static void product(void) {
  atom();
  for (;;) {
    Operation operation = accept("*") ? MULTIPLY : accept("/") ? DIVIDE : accept("%") ? REMAINDER : STOP;
    if (operation == STOP) return;
    atom();
    emit(operation, 0);
  }
}

static void sum(void) {
  product();
  for (;;) {
    Operation operation = accept("+") ? ADD : accept("-") ? SUBTRACT : STOP;
    if (operation == STOP) return;
    product();
    emit(operation, 0);
  }
}

static void expression(void) {
  sum();
  Operation operation = accept("<") ? LESS : accept("==") ? EQUAL : STOP;
  if (operation == STOP) return;
  sum();
  emit(operation, 0);
}

static void statement(void) {
  Kind kind = token.kind;
  if (accept("{")) {
    while (!accept("}")) statement();
  } else if (kind == WHILE || kind == IF) {
    int start = length;
    next();
    expression();
    int leave = emit(JUMP_UNLESS, 0);
    statement();
    if (kind == WHILE) emit(JUMP, start);
    if (kind == IF && token.kind == ELSE) {
      next();
      int end = emit(JUMP, 0);
      code[leave].operand = length;
      leave = end;
      statement();
    }
    code[leave].operand = length;
  } else if (kind == PRINT) {
    next();
    expression();
    emit(EMIT, 0);
    expect(";");
  } else {
    if (kind != NAME) fail("a statement");
    int target = variable(token.text);
    next();
    expect("=");
    expression();
    emit(STORE, target);
    expect(";");
  }
}

static uint64_t run(uint64_t result) {
  int64_t stack[64], values[64] = {0};
  int64_t* top = stack - 1;
  for (const Instruction* at = code;; at++) {
    switch (at->operation) {
      case PUSH: *++top = at->operand; break;
      case LOAD: *++top = values[at->operand]; break;
      case STORE: values[at->operand] = *top--; break;
      case ADD:
        top--;
        top[0] += top[1];
        break;
      case SUBTRACT:
        top--;
        top[0] -= top[1];
        break;
      case MULTIPLY:
        top--;
        top[0] = (int64_t)((uint64_t)top[0] * (uint64_t)top[1]);
        break;
      case DIVIDE:
        top--;
        top[0] = top[1] ? top[0] / top[1] : 0;
        break;
      case REMAINDER:
        top--;
        top[0] = top[1] ? top[0] % top[1] : 0;
        break;
      case LESS:
        top--;
        top[0] = top[0] < top[1];
        break;
      case EQUAL:
        top--;
        top[0] = top[0] == top[1];
        break;
      case JUMP: at = code + at->operand - 1; break;
      case JUMP_UNLESS:
        if (!*top--) at = code + at->operand - 1;
        break;
      case EMIT: result = fold(result, (uint64_t)*top--); break;
      case STOP: return result;
    }
  }
}

#ifndef KVRM_JOB
static const char text[] =
    "limit = %u; step = 0x%x; n = 2; primes = 0;\n"
    "while n < limit {\n"
    "  d = 2; found = 0;\n"
    "  while (d * d < n + 1) * (1 - found) { if n %% d == 0 found = 1; else d = d + 1; }\n"
    "  if found == 0 { primes = primes + 1; last_prime = n; }\n"
    "  n = n + step %% 3 + 1;\n"
    "}\n"
    "print primes; print last_prime * 1000 + (limit - step) / 7;\n"
    "a = %u; steps = 0;\n"
    "while 1 < a { if a %% 2 == 0 a = a / 2; else a = 3 * a + 1; steps = steps + 1; }\n"
    "print steps;\n";

int main(int argc, char** argv) {
  int passes = argc > 1 ? atoi(argv[1]) : 1;
  uint64_t state = 11, result = 0;
  for (int i = 0; i < passes; i++) {
    char program[1024];
    snprintf(program, sizeof program, text, 20 + random_next(&state) % 100, random_next(&state) % 1000,
             1 + random_next(&state) % 500);
    source = program;
    length = variables = 0;
    for (next(); token.kind != END;) statement();
    emit(STOP, 0);
    result = run(result);
  }
  return report("calc", result);
}
#endif
