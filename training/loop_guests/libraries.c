// Drivers of libraries for the loop detector's corpus (training/loops_corpus.py); LIBRARY_... says which.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[60000], packed[80000];

static void write_text(void) {
  uint32_t x = 1;
  for (size_t i = 0; i + 1 < sizeof(text); ++i) {
    if (i % 7 == 0) x = x * 1103515245 + 12345;
    text[i] = "the lane engine device region proof \n"[(x >> 16) % 31 + i % 7];
  }
}

#if defined(LIBRARY_BZIP2)
#include <bzlib.h>
static int drive(void) {
  unsigned length = sizeof(packed), back = sizeof(text);
  return BZ2_bzBuffToBuffCompress(packed, &length, text, sizeof(text), 1, 0, 0) ||
         BZ2_bzBuffToBuffDecompress(text, &back, packed, length, 0, 0);
}
#elif defined(LIBRARY_LZMA)
#include <lzma.h>
static int drive(void) {
  size_t length = 0, in = 0, back = 0;
  uint64_t limit = UINT64_MAX;
  return lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (uint8_t*)text, sizeof(text), (uint8_t*)packed, &length,
                                 sizeof(packed)) ||
         lzma_stream_buffer_decode(&limit, 0, NULL, (uint8_t*)packed, &in, length, (uint8_t*)text, &back, sizeof(text));
}
#elif defined(LIBRARY_EXPAT)
#include <expat.h>
static int drive(void) {
  XML_Parser parser = XML_ParserCreate(NULL);
  char line[200];
  int failed = XML_Parse(parser, "<all>", 5, 0) != XML_STATUS_OK;
  for (int i = 0; i < 400; ++i) {
    const int length =
        snprintf(line, sizeof(line), "<one name='%d' kind=\"%x\">text &amp; %.60s</one>\n", i, i * 77, text + i);
    failed |= XML_Parse(parser, line, length, 0) != XML_STATUS_OK;
  }
  return failed | (XML_Parse(parser, "</all>", 6, 1) != XML_STATUS_OK);
}
#elif defined(LIBRARY_PCRE2)
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
static int drive(void) {
  static const char* const kPatterns[] = {"re[a-z]+on", "(lane|proof) +(\\w+)", "[^\\n]{30}x", "^.*z$"};
  for (int i = 0; i < 4; ++i) {
    int error;
    PCRE2_SIZE at;
    pcre2_code* code =
        pcre2_compile((PCRE2_SPTR)kPatterns[i], PCRE2_ZERO_TERMINATED, PCRE2_MULTILINE, &error, &at, NULL);
    if (!code) return 1;
    pcre2_match_data* match = pcre2_match_data_create_from_pattern(code, NULL);
    for (PCRE2_SIZE from = 0; from < 20000; from += 900)
      pcre2_match(code, (PCRE2_SPTR)text, 20000, from, 0, match, NULL);
  }
  return 0;
}
#elif defined(LIBRARY_GMP)
#include <gmp.h>
static int drive(void) {
  mpz_t a, b;
  mpz_init_set_ui(a, 3);
  mpz_init(b);
  mpz_pow_ui(a, a, 4000);
  for (int i = 0; i < 20; ++i) {
    mpz_mul(b, a, a);
    mpz_fdiv_q_ui(a, b, 1000003 + (unsigned)i);
    mpz_fdiv_r_2exp(a, a, 6000);
  }
  char* digits = mpz_get_str(NULL, 10, b);
  return digits == NULL;
}
#elif defined(LIBRARY_OPENSSL)
#include <openssl/evp.h>
static int drive(void) {
  unsigned char digest[64];
  unsigned length = 0;
  int good = EVP_Digest(text, sizeof(text), digest, &length, EVP_sha512(), NULL);
  good &= EVP_Digest(text, sizeof(text), digest, &length, EVP_md5(), NULL);
  good &= EVP_EncodeBlock((unsigned char*)packed, (unsigned char*)text, 30000) > 0;
  return !good;
}
#elif defined(LIBRARY_JPEG)
#include <jpeglib.h>
static int drive(void) {
  struct jpeg_compress_struct to;
  struct jpeg_error_mgr errors;
  unsigned char* out = NULL;
  unsigned long length = 0;
  to.err = jpeg_std_error(&errors);
  jpeg_create_compress(&to);
  jpeg_mem_dest(&to, &out, &length);
  to.image_width = 160, to.image_height = 120, to.input_components = 3, to.in_color_space = JCS_RGB;
  jpeg_set_defaults(&to);
  jpeg_start_compress(&to, TRUE);
  while (to.next_scanline < to.image_height) {
    JSAMPROW row = (JSAMPROW)text + to.next_scanline * 480;
    jpeg_write_scanlines(&to, &row, 1);
  }
  jpeg_finish_compress(&to);
  return length == 0;
}
#else
static int cmp(const void* a, const void* b) { return *(const char*)a - *(const char*)b; }
static int drive(void) {  // the C library itself
  static const double kNumbers[] = {1.5, 3e10, 7e-5, 123456.789};
  qsort(text, 3000, 1, cmp);
  memmove(text + 5, text, 20000);
  for (int i = 0; i < 200; ++i) snprintf(packed, sizeof(packed), "%d %x %s %.12g", i, i, "text", kNumbers[i & 3]);
  return (int)(strlen(text) + strspn(text, "abc") + strcspn(text, "z") + (strstr(text, "prooof") != NULL)) == 0;
}
#endif

int main(void) {
  write_text();
  const int failed = drive();
  puts(failed ? "failed" : "done");
  return failed;
}
