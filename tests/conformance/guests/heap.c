// The heap and the address space: malloc of all sizes, brk, mmap, mremap, mprotect, munmap.
#include "guest.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBlocks = 400, kTurns = 40000, kPage = 4096 };

typedef struct {
  unsigned char* bytes;
  size_t size;
  unsigned char mark;
} Block;

static size_t pick_size(uint64_t* random) {
  uint32_t dice = random_next(random);
  if (dice % 500 == 0) return 200000 + random_next(random) % 400000;  // mmap, and mremap when it grows
  if (dice % 20 == 0) return random_next(random) % 20000;
  return random_next(random) % 400;
}

static void fill(Block* block) {
  for (size_t i = 0; i < block->size; i += 97) block->bytes[i] = (unsigned char)(block->mark + i);
}

static void check(const Block* block, size_t size) {
  for (size_t i = 0; i < size; i += 97) REQUIRE(block->bytes[i] == (unsigned char)(block->mark + i));
}

static void stress(void) {
  static Block blocks[kBlocks];
  uint64_t random = 1, total = 0;
  for (int turn = 0; turn < kTurns; turn++) {
    Block* block = &blocks[random_next(&random) % kBlocks];
    check(block, block->size);
    size_t size = pick_size(&random), old = block->size;
    switch (random_next(&random) % 4) {
      case 0:
        free(block->bytes);
        block->bytes = malloc(size);
        break;
      case 1:
        block->bytes = realloc(block->bytes, size + 1);
        check(block, old < size ? old : size);
        break;
      case 2:
        free(block->bytes);
        block->bytes = calloc(size + 1, 1);
        for (size_t i = 0; i < size; i += 13) REQUIRE(block->bytes[i] == 0);
        break;
      default:
        free(block->bytes);
        block->bytes = aligned_alloc(256, (size + 255) & ~(size_t)255);
        REQUIRE((uintptr_t)block->bytes % 256 == 0);
    }
    REQUIRE(block->bytes != NULL || size == 0);
    block->size = size;
    block->mark = (unsigned char)turn;
    fill(block);
    total += size;
  }
  for (int i = 0; i < kBlocks; i++) free(blocks[i].bytes);
  printf("allocated %lu bytes in %d turns\n", (unsigned long)total, kTurns);
}

static void break_pointer(void) {
  char* start = sbrk(0);
  SHOW(brk(start + 10 * kPage) == 0);
  memset(start, 1, 10 * kPage);
  SHOW(brk(start) == 0);
  SHOW(brk(start + 2 * kPage) == 0);
  SHOW(start[0]);  // fresh pages are zero
  SHOW(brk(start) == 0);
}

static void mappings(void) {
  char* block = mmap(NULL, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(block != MAP_FAILED);
  for (int i = 0; i < 8; i++) block[i * kPage] = (char)('a' + i);
  SHOW(munmap(block + 2 * kPage, 2 * kPage));
  SHOW(mprotect(block, 8 * kPage, PROT_READ));                  // a hole: ENOMEM
  SHOW(mprotect(block, 2 * kPage, PROT_READ | PROT_WRITE));
  SHOW(mprotect(block + 1, kPage, PROT_READ));                  // misaligned
  SHOW(munmap(block + 1, kPage));
  SHOW(munmap(block + 2 * kPage, 2 * kPage));                   // nothing there: fine
  char* same = mmap(block + 2 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  SHOW(same == block + 2 * kPage);
  SHOW(same[0]);
  SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  SHOW(mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, 77, 0) == MAP_FAILED);
  char* tail = mremap(block + 4 * kPage, 4 * kPage, 20 * kPage, MREMAP_MAYMOVE);
  REQUIRE(tail != MAP_FAILED);
  printf("moved: %c%c%c, then %d\n", tail[0], tail[kPage], tail[3 * kPage], tail[19 * kPage]);
  SHOW(mremap(tail, 20 * kPage, 2 * kPage, 0) == tail);
  SHOW(madvise(tail, kPage, MADV_DONTNEED));
  SHOW(tail[0]);
  SHOW(tail[kPage]);
  SHOW(munmap(tail, 2 * kPage));
  SHOW(munmap(block, 3 * kPage));
}

static void file_mapping(void) {
  FILE* file = fopen("mapped.txt", "w+");
  REQUIRE(file);
  for (int i = 0; i < 1000; i++) fprintf(file, "%d ", i);
  fflush(file);
  char* text = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
  REQUIRE(text != MAP_FAILED);
  printf("%.20s\n", text);
  SHOW(text[3888]);
  SHOW(text[3890]);  // after the end of the file, in its last page
  memcpy(text, "private", 7);
  char again[8] = {0};
  rewind(file);
  REQUIRE(fread(again, 1, 7, file) == 7);
  printf("%.7s, the file has %s\n", text, again);
  fclose(file);
  SHOW(madvise(text, 2 * kPage, MADV_DONTNEED));  // the file comes back, though it is closed
  printf("%.20s\n", text);
  SHOW(text[3890]);
  SHOW(munmap(text, 2 * kPage));
}

// A letter for each page of a file, and then what is done to its mapping.
static void pages_of_a_file(void) {
  FILE* file = fopen("pages.txt", "w+");
  REQUIRE(file);
  for (int i = 0; i < 6 * kPage; i++) fputc('a' + i / kPage, file);
  fflush(file);
  char* pages = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), kPage);
  REQUIRE(pages != MAP_FAILED);
  for (int i = 0; i < 4; i++) pages[i * kPage] = 'X';
  SHOW(mprotect(pages + kPage, kPage, PROT_READ));
  SHOW(madvise(pages + kPage, 2 * kPage, MADV_DONTNEED));
  printf("%c%c%c%c\n", pages[0], pages[kPage], pages[2 * kPage], pages[3 * kPage]);
  SHOW(mprotect(pages + kPage, kPage, PROT_READ | PROT_WRITE));
  char* room = mmap(NULL, 16 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(room != MAP_FAILED);
  char* moved = mremap(pages + 2 * kPage, kPage, 3 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, room);
  REQUIRE(moved == room);
  printf("%c%c%c\n", moved[0], moved[kPage], moved[2 * kPage]);  // it grows into the file
  moved[kPage] = 'X';
  SHOW(madvise(moved, 3 * kPage, MADV_DONTNEED));
  printf("%c%c%c\n", moved[0], moved[kPage], moved[2 * kPage]);
  SHOW(munmap(room, 16 * kPage));
  fclose(file);
}

static void moves(void) {
  char* room = mmap(NULL, 32 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* block = mmap(room, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  REQUIRE(block == room && room != MAP_FAILED);
  for (int i = 0; i < 4; i++) block[i * kPage] = (char)('a' + i);
  SHOW(mremap(block, 4 * kPage, 8 * kPage, 0) == MAP_FAILED);  // something is in the way
  SHOW(mremap(block + 1, kPage, kPage, MREMAP_MAYMOVE) == MAP_FAILED);
  SHOW(mremap(block, kPage, kPage, MREMAP_FIXED, room) == MAP_FAILED);
  SHOW(mremap(block, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, block + kPage) == MAP_FAILED);
  char* half = mremap(block, 4 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, room + 8 * kPage);
  SHOW(half == room + 8 * kPage);
  printf("%c%c\n", half[0], half[kPage]);
  SHOW(mremap(block + 2 * kPage, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED);  // it is gone
  char* copy = mremap(half, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, room + 16 * kPage);
  SHOW(copy == room + 16 * kPage);
  printf("%c%c %d%d\n", copy[0], copy[kPage], half[0], half[kPage]);
  SHOW(munmap(room, 32 * kPage));
  char* shared = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  shared[0] = 's';
  SHOW(madvise(shared, kPage, MADV_DONTNEED));  // shared memory keeps its contents
  SHOW(shared[0]);
  SHOW(munmap(shared, 2 * kPage));
}

int main(void) {
  stress();
  break_pointer();
  mappings();
  file_mapping();
  pages_of_a_file();
  moves();
  return 0;
}
