// Joins two tables by a hash table with chains: hash_join ROWS PROBES (default 2 M, 2 M; 144 MB).
#include "workload.h"

typedef struct Row {
  uint64_t key;
  uint32_t next;  // in its chain, + 1
  uint32_t amount;
  uint64_t rest[6];
} Row;

static uint32_t bucket_of(uint64_t key, uint32_t mask) { return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & mask; }

int main(int argc, char** argv) {
  uint32_t rows = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 2u << 20;
  uint32_t probes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 2u << 20;
  uint32_t buckets = 1;
  while (buckets < rows) buckets *= 2;
  uint64_t random = 23, sum = 0;
  Row* table = allocate(rows * sizeof(Row));
  uint32_t* heads = allocate(buckets * sizeof(uint32_t));
  uint64_t* asked = allocate(probes * sizeof(uint64_t));
  for (uint32_t i = 0; i < buckets; i++) heads[i] = 0;
  for (uint32_t i = 0; i < probes; i++) asked[i] = random_next(&random) % (rows + rows / 4);
  for (uint32_t i = 0; i < rows; i++) {
    uint32_t bucket = bucket_of(i, buckets - 1);
    table[i] = (Row){.key = i, .next = heads[bucket], .amount = i * 7};
    heads[bucket] = i + 1;
  }
  for (uint32_t i = 0; i < probes; i++) {
    for (uint32_t at = heads[bucket_of(asked[i], buckets - 1)]; at != 0; at = table[at - 1].next) {
      if (table[at - 1].key != asked[i]) continue;
      sum += table[at - 1].amount;
      break;
    }
  }
  return report("hash_join", sum);
}
