// Zstandard at several levels, with a dictionary, and back: zstd SIZE (bytes of text).
#include <zstd.h>

#include "text.h"

static size_t checked(size_t result) {
  if (ZSTD_isError(result)) fail(ZSTD_getErrorName(result));
  return result;
}

// Small blocks with the beginning of the text as their dictionary.
static uint64_t blocks(ZSTD_CCtx* encoder, ZSTD_DCtx* decoder, const unsigned char* text, size_t size, uint64_t sum) {
  size_t known = size / 8, block = 2000, bound = ZSTD_compressBound(block);
  unsigned char* packed = allocate(bound);
  unsigned char* back = allocate(block);
  ZSTD_CDict* encoding = ZSTD_createCDict(text, known, 5);
  ZSTD_DDict* decoding = ZSTD_createDDict(text, known);
  for (size_t at = known; at + block <= size; at += block) {
    size_t made = checked(ZSTD_compress_usingCDict(encoder, packed, bound, text + at, block, encoding));
    checked(ZSTD_decompress_usingDDict(decoder, back, block, packed, made, decoding));
    if (memcmp(text + at, back, block) != 0) fail("not the same");
    sum = fold_bytes(sum, packed, made);
  }
  ZSTD_freeCDict(encoding);
  ZSTD_freeDDict(decoding);
  free(packed);
  free(back);
  return sum;
}

int main(int argc, char** argv) {
  size_t size = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  unsigned char* text = make_text(size);
  size_t bound = ZSTD_compressBound(size);
  unsigned char* packed = allocate(bound);
  unsigned char* back = allocate(size);
  ZSTD_CCtx* encoder = ZSTD_createCCtx();
  ZSTD_DCtx* decoder = ZSTD_createDCtx();
  static const int levels[] = {-3, 1, 3, 6, 9, 13};
  uint64_t sum = 0;
  for (int i = 0; i < 6; i++) {
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, levels[i]);
    size_t made = checked(ZSTD_compress2(encoder, packed, bound, text, size));
    if (checked(ZSTD_decompressDCtx(decoder, back, size, packed, made)) != size || memcmp(text, back, size) != 0)
      fail("not the same");
    printf("level %d: %zu bytes\n", levels[i], made);
    sum = fold_bytes(sum, packed, made);
  }
  sum = blocks(encoder, decoder, text, size, sum);
  ZSTD_freeCCtx(encoder);
  ZSTD_freeDCtx(decoder);
  return report("zstd", sum);
}
