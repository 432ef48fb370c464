// Walks a linked list in random order again and again: second_pass NODES PASSES (default 2 M, 2; 128 MB).
#include "workload.h"

typedef struct Node {
  struct Node* next;
  uint64_t value[7];
} Node;

int main(int argc, char** argv) {
  uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 2u << 20;
  uint32_t passes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 2;
  if (count == 0) return 1;
  uint64_t random = 41, sum = 0;
  Node* nodes = allocate(count * sizeof(Node));
  uint32_t* order = allocate(count * sizeof(uint32_t));
  shuffle(order, count, &random);
  for (uint32_t i = 0; i < count; i++) {
    nodes[order[i]].next = i + 1 < count ? &nodes[order[i + 1]] : NULL;
    nodes[order[i]].value[0] = i;
  }
  for (uint32_t pass = 0; pass < passes; pass++) {
    for (const Node* node = &nodes[order[0]]; node != NULL; node = node->next) sum += node->value[0] ^ pass;
  }
  return report("second_pass", sum);
}
