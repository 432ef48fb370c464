// A JSON parser: builds the tree of a generated document in an arena, then walks it. Integers only.
#include "bench.h"

enum { kDocument = SIZE(1 << 20, 1 << 13), kValues = SIZE(400000, 4000) };

typedef enum { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject } Kind;

typedef struct Value {
  Kind kind;
  int length;         // of text; number of children
  long number;
  const char* text;   // of a string, still escaped
  const char* key;    // in an object
  int key_length;
  struct Value *first, *next;
} Value;

typedef struct {
  const char* at;
  Value *free, *end;
} Parser;

// The generator.

typedef struct {
  char *at, *end;
  uint64_t random;
} Writer;

static void put(Writer* w, const char* text) {
  while (*text) *w->at++ = *text++;
}

static void put_string(Writer* w) {
  static const char* const kPieces[] = {"lane", "engine", "device", "\\n", "region", " ", "\\u00e9", "proof", "\\\""};
  put(w, "\"");
  for (uint32_t n = 1 + random_next(&w->random) % 4; n; n--) put(w, kPieces[random_next(&w->random) % 9]);
  put(w, "\"");
}

static void put_number(Writer* w) {
  char digits[12], *d = digits + sizeof digits;
  uint32_t n = random_next(&w->random) >> random_next(&w->random) % 32;
  *--d = 0;
  do *--d = (char)('0' + (n + (uint32_t)(OWN() % 7)) % 10);
  while (n /= 10);
  if (random_next(&w->random) & 1) put(w, "-");
  put(w, d);
}

static void put_value(Writer* w, int depth) {
  uint32_t kind = random_next(&w->random) % 8;
  int full = w->end - w->at < 1000;
  if (full || depth == 0 || kind < 4) {
    switch (kind % 5) {
      case 0: put(w, "null"); break;
      case 1: put(w, random_next(&w->random) & 1 ? "true" : "false"); break;
      case 2: put_string(w); break;
      default: put_number(w);
    }
    return;
  }
  int object = kind & 1;
  put(w, object ? "{" : "[");
  for (uint32_t i = 0, n = random_next(&w->random) % 9; i < n && w->end - w->at > 500; i++) {
    if (i) put(w, random_next(&w->random) & 1 ? ", " : ",\n  ");
    if (object) {
      put_string(w);
      put(w, ": ");
    }
    put_value(w, depth - 1);
  }
  put(w, object ? "}" : "]");
}

static char* document(void) {
  char* text = allocate(kDocument);
  Writer w = {text, text + kDocument, 8};
  put(&w, "[");
  while (w.end - w.at > 2000) {
    put_value(&w, 6);
    put(&w, ",\n");
  }
  put(&w, "0]");
  *w.at = 0;
  return text;
}

// The parser. Errors end the program: the document is our own.

static void wrong(const char* what) {
  printf("json: %s\n", what);
  exit(1);
}

static void space(Parser* p) {
  while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r') p->at++;
}

static int string(Parser* p, const char** text) {
  if (*p->at++ != '"') wrong("string expected");
  *text = p->at;
  for (; *p->at != '"'; p->at++) {
    if (*p->at == '\\') p->at++;
    if (!*p->at) wrong("open string");
  }
  return (int)(p->at++ - *text);
}

static void literal(Parser* p, const char* word) {
  while (*word) {
    if (*p->at++ != *word++) wrong("unknown word");
  }
}

static Value* value(Parser* p);

static void children(Parser* p, Value* v, char close) {
  Value** link = &v->first;
  p->at++;
  space(p);
  if (*p->at == close) {
    p->at++;
    return;
  }
  for (;;) {
    const char* key = NULL;
    int key_length = 0;
    space(p);
    if (v->kind == kObject) {
      key_length = string(p, &key);
      space(p);
      if (*p->at++ != ':') wrong("colon expected");
    }
    Value* child = value(p);
    child->key = key;
    child->key_length = key_length;
    *link = child;
    link = &child->next;
    v->length++;
    space(p);
    char c = *p->at++;
    if (c == close) return;
    if (c != ',') wrong("comma expected");
  }
}

static Value* value(Parser* p) {
  if (p->free == p->end) wrong("too many values");
  Value* v = p->free++;
  v->first = v->next = NULL;
  v->length = 0;
  space(p);
  switch (*p->at) {
    case 'n':
      v->kind = kNull;
      literal(p, "null");
      break;
    case 'f':
      v->kind = kFalse;
      literal(p, "false");
      break;
    case 't':
      v->kind = kTrue;
      literal(p, "true");
      break;
    case '"':
      v->kind = kString;
      v->length = string(p, &v->text);
      break;
    case '[':
      v->kind = kArray;
      children(p, v, ']');
      break;
    case '{':
      v->kind = kObject;
      children(p, v, '}');
      break;
    default: {
      int minus = *p->at == '-';
      if (minus) p->at++;
      if (*p->at < '0' || *p->at > '9') wrong("value expected");
      long n = 0;
      while (*p->at >= '0' && *p->at <= '9') n = n * 10 + (*p->at++ - '0');
      v->kind = kNumber;
      v->number = minus ? -n : n;
    }
  }
  return v;
}

static uint64_t walk(const Value* v, uint64_t sum) {
  sum = fold(sum, (uint64_t)v->kind << 32 | (uint32_t)v->length);
  if (v->kind == kNumber) sum = fold(sum, (uint64_t)v->number);
  if (v->kind == kString) {
    for (int i = 0; i < v->length; i++) sum = fold(sum, (uint8_t)v->text[i]);
  }
  for (const Value* child = v->first; child; child = child->next) {
    for (int i = 0; i < child->key_length; i++) sum = fold(sum, (uint8_t)child->key[i]);
    sum = walk(child, sum);
  }
  return sum;
}

int main(void) {
  const char* text = document();
  Value* arena = allocate(kValues * sizeof(Value));
  uint64_t sum = OWN();
  const int passes = PASSES(15, 7);
  for (int pass = 0; pass < passes; pass++) {
    Parser parser = {text, arena, arena + kValues};
    sum = walk(value(&parser), sum);
  }
  return report("json", sum);
}
