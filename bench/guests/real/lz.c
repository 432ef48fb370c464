// LZ77 with hash chains and lazy matching, its tokens coded with an adaptive binary range coder, and back: lz SIZE
// (bytes of text).
#include "text.h"

enum { kWindow = 1 << 15, kHashBits = 14, kLongest = 130, kShortest = 3, kChain = 24 };

// The range coder: a probability of 11 bits for each context.
typedef struct {
  uint32_t low, range, code;
  unsigned char* out;
  const unsigned char* in;
} Coder;

typedef struct {
  uint16_t kind, literal[256], length[128], high[256], low[256];
} Model;

static void model_start(Model* model) {
  uint16_t* all = (uint16_t*)model;
  for (size_t i = 0; i < sizeof *model / sizeof *all; i++) all[i] = 1024;
}

// Takes the part of the range that belongs to a bit, and learns from it.
static void narrow(Coder* coder, uint16_t* probability, uint32_t bound, int bit) {
  if (bit) {
    coder->low += bound;
    coder->range -= bound;
    *probability = (uint16_t)(*probability - (*probability >> 5));
  } else {
    coder->range = bound;
    *probability = (uint16_t)(*probability + ((2048 - *probability) >> 5));
  }
}

// Whether the range's top byte is settled. A small range across a byte's edge is cut, so that no carry need be
// propagated.
static int settled(Coder* coder) {
  if ((coder->low ^ (coder->low + coder->range)) < 1u << 24) return 1;
  if (coder->range >= 1u << 16) return 0;
  coder->range = -coder->low & 0xffff;
  return 1;
}

static void shift(Coder* coder) {
  coder->low <<= 8;
  coder->range <<= 8;
}

static void encode_bit(Coder* coder, uint16_t* probability, int bit) {
  narrow(coder, probability, (coder->range >> 11) * *probability, bit);
  for (; settled(coder); shift(coder)) *coder->out++ = (unsigned char)(coder->low >> 24);
}

static int decode_bit(Coder* coder, uint16_t* probability) {
  uint32_t bound = (coder->range >> 11) * *probability;
  int bit = coder->code - coder->low >= bound;
  narrow(coder, probability, bound, bit);
  for (; settled(coder); shift(coder)) coder->code = coder->code << 8 | *coder->in++;
  return bit;
}

static void encode_tree(Coder* coder, uint16_t* tree, int bits, unsigned value) {
  unsigned node = 1;
  for (int i = bits; i-- > 0;) {
    int bit = value >> i & 1;
    encode_bit(coder, &tree[node], bit);
    node = node * 2 + (unsigned)bit;
  }
}

static unsigned decode_tree(Coder* coder, uint16_t* tree, int bits) {
  unsigned node = 1;
  for (int i = 0; i < bits; i++) node = node * 2 + (unsigned)decode_bit(coder, &tree[node]);
  return node - (1u << bits);
}

typedef struct {
  const unsigned char* text;
  size_t size;
  int32_t heads[1 << kHashBits];
  int32_t before[kWindow];
} Finder;

static unsigned hash_at(const Finder* finder, size_t at) {
  const unsigned char* p = finder->text + at;
  return ((uint32_t)p[0] << 16 ^ (uint32_t)p[1] << 8 ^ p[2]) * 2654435761u >> (32 - kHashBits);
}

static void insert(Finder* finder, size_t at) {
  if (at + kShortest > finder->size) return;
  unsigned hash = hash_at(finder, at);
  finder->before[at % kWindow] = finder->heads[hash];
  finder->heads[hash] = (int32_t)at;
}

static size_t match(const Finder* finder, size_t at, size_t* distance) {
  if (at + kShortest > finder->size) return 0;
  size_t most = finder->size - at < kLongest ? finder->size - at : kLongest, best = 0;
  int32_t candidate = finder->heads[hash_at(finder, at)];
  for (int i = 0; i < kChain && candidate >= 0 && at - (size_t)candidate < kWindow; i++) {
    const unsigned char *a = finder->text + candidate, *b = finder->text + at;
    size_t length = 0;
    while (length < most && a[length] == b[length]) length++;
    if (length > best) {
      best = length;
      *distance = at - (size_t)candidate;
    }
    candidate = finder->before[(size_t)candidate % kWindow];
  }
  return best >= kShortest ? best : 0;
}

static void encode_match(Coder* coder, Model* model, size_t length, size_t distance) {
  encode_bit(coder, &model->kind, 1);
  encode_tree(coder, model->length, 7, (unsigned)(length - kShortest));
  encode_tree(coder, model->high, 8, (unsigned)(distance >> 8));
  encode_tree(coder, model->low, 8, distance & 255);
}

static size_t compress(const unsigned char* text, size_t size, unsigned char* out) {
  Finder* finder = allocate(sizeof *finder);
  Model* model = allocate(sizeof *model);
  finder->text = text;
  finder->size = size;
  memset(finder->heads, 0xff, sizeof finder->heads);
  model_start(model);
  Coder coder = {.range = 0xffffffff, .out = out};
  for (size_t at = 0; at < size;) {
    size_t distance = 0, later = 0;
    size_t length = match(finder, at, &distance);
    insert(finder, at);
    if (length == 0 || (length < 32 && match(finder, at + 1, &later) > length)) {
      encode_bit(&coder, &model->kind, 0);
      encode_tree(&coder, model->literal, 8, text[at++]);
      continue;
    }
    encode_match(&coder, model, length, distance);
    for (size_t i = 1; i < length; i++) insert(finder, at + i);
    at += length;
  }
  for (int i = 0; i < 4; i++) {
    *coder.out++ = (unsigned char)(coder.low >> 24);
    coder.low <<= 8;
  }
  free(finder);
  free(model);
  return (size_t)(coder.out - out);
}

static void decompress(const unsigned char* packed, unsigned char* out, size_t size) {
  Model* model = allocate(sizeof *model);
  model_start(model);
  Coder coder = {.range = 0xffffffff, .in = packed};
  for (int i = 0; i < 4; i++) coder.code = coder.code << 8 | *coder.in++;
  for (size_t at = 0; at < size;) {
    if (!decode_bit(&coder, &model->kind)) {
      out[at++] = (unsigned char)decode_tree(&coder, model->literal, 8);
      continue;
    }
    size_t length = decode_tree(&coder, model->length, 7) + kShortest;
    size_t distance = decode_tree(&coder, model->high, 8) << 8;
    distance += decode_tree(&coder, model->low, 8);
    if (distance == 0 || distance > at || length > size - at) fail("a broken stream");
    for (size_t i = 0; i < length; i++, at++) out[at] = out[at - distance];
  }
  free(model);
}

static int round_trip(const unsigned char* text, size_t size) {
  unsigned char* packed = allocate(size * 2 + 64);
  unsigned char* back = allocate(size);
  memset(packed, 0, size * 2 + 64);
  size_t made = compress(text, size, packed);
  decompress(packed, back, size);
  if (memcmp(text, back, size) != 0) fail("not the same");
  printf("%zu bytes\n", made);
  return report("lz", fold_bytes(0, packed, made));
}

#ifndef KVRM_JOB
int main(int argc, char** argv) {
  size_t size = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  return round_trip(make_text(size), size);
}
#endif
