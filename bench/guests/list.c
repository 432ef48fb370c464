// Walk of a circular linked list in random order: list NODES (default 1024).
#include "bench.h"

typedef struct Node {
  struct Node* next;
  uint64_t value;
} Node;

// Link the nodes into one cycle, in the order of a random permutation.
static Node* make(Node* nodes, uint32_t* order, uint32_t count) {
  uint64_t random = 5;
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  for (uint32_t i = count - 1; i > 0; i--) {
    uint32_t j = (uint32_t)((uint64_t)random_next(&random) * (i + 1) >> 32), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (uint32_t i = 0; i < count; i++) {
    Node* node = &nodes[order[i]];
    node->next = &nodes[order[(i + 1) % count]];
    node->value = random_next(&random) + OWN();
  }
  return &nodes[order[0]];
}

int main(int argc, char** argv) {
  uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1024;
  if (count == 0) return 1;
  Node* node = make(allocate(count * sizeof(Node)), allocate(count * sizeof(uint32_t)), count);
  uint64_t sum = 0;
  const int steps = PASSES(36 << 20, 1 << 17);
  for (int step = 0; step < steps; step++) {
    sum += node->value ^ (uint64_t)step;
    node = node->next;
  }
  return report("list", sum);
}
