// Programs from which the memory oracle learns: patterns NAME. None of them is evaluated. Each has 64 to 200 MB.
#include <string.h>

#include "../../bench/guests/memory/workload.h"

static uint64_t seed = 7;
static uint32_t below(uint32_t bound) { return (uint32_t)((uint64_t)random_next(&seed) * bound >> 32); }
__attribute__((noinline)) static void* filled(uint64_t bytes) {
  uint32_t* words = allocate(bytes);
  for (uint64_t i = 0; i < bytes / 4; i++) words[i] = (uint32_t)(i * 2654435761u);
  return words;
}

// Sums of columns of a matrix that is stored by rows.
static uint64_t columns(void) {
  enum { kRows = 4096, kColumns = 4096 };
  uint64_t sum = 0, *matrix = filled((uint64_t)kRows * kColumns * 8);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t j = 0; j < kColumns; j++)
      for (uint32_t i = 0; i < kRows; i++) sum += matrix[(uint64_t)i * kColumns + j];
  return sum;
}
// One field of many records, forwards and backwards.
static uint64_t fields(void) {
  typedef struct {
    uint64_t key;
    uint32_t parts[38];
  } Record;
  enum { kCount = 1 << 20 };
  uint64_t sum = 0;
  Record* records = filled(kCount * sizeof(Record));
  for (int pass = 0; pass < 4; pass++) {
    for (uint32_t i = 0; i < kCount; i++) sum += records[i].key;
    for (uint32_t i = kCount; i-- > 0;) sum ^= records[i].parts[20];
  }
  return sum;
}
// Sparse matrix times vector.
static uint64_t sparse(void) {
  enum { kRows = 1 << 20, kOfEach = 12, kWidth = 1 << 23 };
  uint32_t* index = allocate((uint64_t)kRows * kOfEach * 4);
  uint64_t sum = 0, *vector = filled((uint64_t)kWidth * 8);
  for (uint32_t i = 0; i < kRows * kOfEach; i++) index[i] = below(kWidth);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < kRows; i++)
      for (uint32_t j = 0; j < kOfEach; j++) sum += vector[index[i * kOfEach + j]] * (j + 1);
  return sum;
}
// Objects through an array of pointers in random order.
static uint64_t pointers(void) {
  typedef struct {
    uint64_t kind, weight, rest[10];
  } Object;
  enum { kCount = 1 << 20 };
  Object* objects = filled(kCount * sizeof(Object));
  Object** table = allocate(kCount * sizeof(Object*));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kCount; i++) table[i] = &objects[below(kCount)];
  for (int pass = 0; pass < 6; pass++)
    for (uint32_t i = 0; i < kCount; i++) sum += table[i]->kind & 1 ? table[i]->weight : 3;
  return sum;
}
// Lookups at random places: nothing to learn.
static uint64_t random_table(void) {
  enum { kCount = 1 << 24 };
  uint64_t sum = 0, *table = filled((uint64_t)kCount * 8);
  for (uint32_t i = 0; i < 1 << 24; i++) sum += table[below(kCount)] ^ sum >> 3;
  return sum;
}
// Each lookup's place comes from the one before.
static uint64_t chase(void) {
  enum { kCount = 1 << 24 };
  uint64_t sum = 0;
  uint32_t* table = filled((uint64_t)kCount * 4);
  for (uint32_t i = 0, at = 1; i < 1 << 24; i++) {
    at = (table[at] + i) % kCount;
    sum += at;
  }
  return sum;
}
// A priority queue that grows, then gives its items.
static uint64_t heap(void) {
  enum { kCount = 1 << 23 };
  uint64_t sum = 0, *items = allocate((uint64_t)(kCount + 2) * 8);
  uint32_t size = 0;
  for (uint32_t i = 0; i < kCount; i++) {
    uint32_t at = ++size;
    for (items[at] = random_next(&seed); at > 1 && items[at / 2] > items[at]; at /= 2) {
      uint64_t other = items[at];
      items[at] = items[at / 2];
      items[at / 2] = other;
    }
  }
  while (size > kCount / 2) {
    uint64_t last = items[size--], at = 1;
    sum = sum * 3 + items[1];
    for (uint64_t child; (child = 2 * at) <= size; at = child) {
      child += child < size && items[child + 1] < items[child];
      if (items[child] >= last) break;
      items[at] = items[child];
    }
    items[at] = last;
  }
  return sum;
}
// Sets that are united, with short cuts.
static uint64_t sets(void) {
  enum { kCount = 1 << 25 };
  uint32_t* parent = allocate((uint64_t)kCount * 4);
  for (uint32_t i = 0; i < kCount; i++) parent[i] = i;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 1 << 22; i++) {
    uint32_t roots[2] = {below(kCount), below(kCount)};
    for (int k = 0; k < 2; k++)
      while (parent[roots[k]] != roots[k]) roots[k] = parent[roots[k]] = parent[parent[roots[k]]];
    parent[roots[0]] = roots[1];
    sum += roots[1];
  }
  return sum;
}
typedef struct Item {
  struct Item *next, *down;
  uint64_t key, rest;
} Item;
// Walks over a tree of random places, the same way each time.
static uint64_t visit(const Item* item, uint64_t sum) {
  while (item != NULL) {
    sum = visit(item->down, sum * 3 + item->key);
    item = item->next;
  }
  return sum;
}
static uint64_t traversals(void) {
  enum { kCount = 5 << 19 };
  Item* items = allocate((uint64_t)kCount * sizeof(Item));
  uint32_t* order = allocate((uint64_t)kCount * 4);
  shuffle(order, kCount, &seed);
  for (uint32_t i = 0; i < kCount; i++) {
    uint32_t next = 2 * i + 1, down = 2 * i + 2;
    items[order[i]] = (Item){next < kCount ? &items[order[next]] : NULL, down < kCount ? &items[order[down]] : NULL, i, 0};
  }
  uint64_t sum = 0;
  for (int pass = 0; pass < 4; pass++) sum = visit(&items[order[0]], sum);
  return sum;
}
// Short lists behind an array of heads, all of them again and again.
static uint64_t chains(void) {
  enum { kHeads = 1 << 18, kCount = 1 << 21 };
  Item* items = allocate((uint64_t)kCount * sizeof(Item));
  Item** heads = allocate(kHeads * sizeof(Item*));
  memset(heads, 0, kHeads * sizeof(Item*));
  for (uint32_t i = 0; i < kCount; i++) {
    Item** head = &heads[below(kHeads)];
    items[i] = (Item){*head, NULL, i, 0};
    *head = &items[i];
  }
  uint64_t sum = 0;
  for (int pass = 0; pass < 4; pass++)
    for (uint32_t i = 0; i < kHeads; i++)
      for (const Item* item = heads[i]; item != NULL; item = item->next) sum = sum * 5 + item->key;
  return sum;
}
// Copies blocks between two arrays, and adds up what it copied.
static uint64_t blocks(void) {
  enum { kBytes = 48 << 20 };
  uint8_t *from = filled(kBytes), *to = allocate(kBytes);
  uint64_t sum = 0;
  for (int pass = 0; pass < 3; pass++) {
    for (uint32_t at = 0; at < kBytes; at += 4096) memcpy(to + at, from + (uint64_t)below(kBytes / 4096) * 4096, 4096);
    for (uint32_t i = 0; i < kBytes; i += 8) sum += to[i];
  }
  return sum;
}
// A table that is searched by halving.
static uint64_t halving(void) {
  enum { kCount = 1 << 24 };
  uint64_t sum = 0, *table = allocate((uint64_t)kCount * 8);
  for (uint64_t i = 0; i < kCount; i++) table[i] = i * 3;
  for (uint32_t i = 0; i < 1 << 20; i++) {
    uint64_t key = (uint64_t)below(kCount) * 3 + i % 3;
    uint32_t first = 0, last = kCount;
    while (last - first > 1) {
      uint32_t middle = first + (last - first) / 2;
      if (table[middle] <= key)
        first = middle;
      else
        last = middle;
    }
    sum += first;
  }
  return sum;
}
// Counts of values, through a list of them.
static uint64_t histogram(void) {
  enum { kBins = 1 << 24, kValues = 1 << 23 };
  uint32_t *values = allocate((uint64_t)kValues * 4), *bins = filled((uint64_t)kBins * 4);
  for (uint32_t i = 0; i < kValues; i++) values[i] = below(kBins);
  uint64_t sum = 0;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < kValues; i++) bins[values[i]]++;
  for (uint32_t i = 0; i < kBins; i += 1024) sum += bins[i];
  return sum;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    uint64_t (*run)(void);
  } kPatterns[] = {{"columns", columns}, {"fields", fields},     {"sparse", sparse},         {"pointers", pointers},
                   {"random", random_table}, {"chase", chase},   {"heap", heap},             {"sets", sets},
                   {"traversals", traversals}, {"chains", chains}, {"blocks", blocks}, {"halving", halving},
                   {"histogram", histogram}};
  for (size_t i = 0; argc > 1 && i < sizeof kPatterns / sizeof kPatterns[0]; i++) {
    if (strcmp(argv[1], kPatterns[i].name) == 0) return report(kPatterns[i].name, kPatterns[i].run());
  }
  return 1;
}
