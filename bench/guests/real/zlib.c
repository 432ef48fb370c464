// Deflate at several levels and strategies, whole and as a stream, and back: zlib SIZE (bytes of text).
#include <zlib.h>

#include "text.h"

static unsigned char* packed;
static unsigned char* back;

// In pieces, as a program does that reads a file.
static size_t deflate_pieces(const unsigned char* text, size_t size, int level, int strategy) {
  z_stream stream = {0};
  if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, strategy) != Z_OK) fail("deflateInit2");
  stream.next_out = packed;
  stream.avail_out = (uInt)compressBound(size) + 64;
  for (size_t at = 0; at < size; at += 4096) {
    size_t piece = size - at < 4096 ? size - at : 4096;
    stream.next_in = (unsigned char*)text + at;
    stream.avail_in = (uInt)piece;
    deflate(&stream, at + piece == size ? Z_FINISH : Z_NO_FLUSH);
  }
  size_t made = stream.total_out;
  if (deflateEnd(&stream) != Z_OK) fail("deflateEnd");
  return made;
}

static void inflate_pieces(size_t made, size_t size) {
  z_stream stream = {0};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) fail("inflateInit2");
  stream.next_out = back;
  stream.avail_out = (uInt)size;
  for (size_t at = 0; at < made; at += 1000) {
    stream.next_in = packed + at;
    stream.avail_in = (uInt)(made - at < 1000 ? made - at : 1000);
    inflate(&stream, Z_NO_FLUSH);
  }
  if (stream.total_out != size || inflateEnd(&stream) != Z_OK) fail("inflate");
}

static void start(size_t size) {
  packed = allocate(compressBound(size) + 64);
  back = allocate(size);
}

static uint64_t round_trip(const unsigned char* text, size_t size, int level, int strategy, uint64_t sum) {
  size_t made = deflate_pieces(text, size, level, strategy);
  inflate_pieces(made, size);
  if (memcmp(text, back, size) != 0) fail("not the same");
  printf("level %d strategy %d: %zu bytes\n", level, strategy, made);
  return fold(fold_bytes(sum, packed, made), crc32(0, back, (uInt)size) + adler32(1, back, (uInt)size));
}

#ifndef KVRM_JOB
int main(int argc, char** argv) {
  size_t size = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  unsigned char* text = make_text(size);
  start(size);
  static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_DEFAULT_STRATEGY, Z_DEFAULT_STRATEGY,
                                   Z_FILTERED,         Z_HUFFMAN_ONLY,     Z_RLE};
  static const int levels[] = {1, 6, 9, 4, 5, 6};
  uint64_t sum = 0;
  for (int i = 0; i < 6; i++) sum = round_trip(text, size, levels[i], strategies[i], sum);
  return report("zlib", sum);
}
#endif
