// Searches in a balanced binary tree whose nodes lie in random order: tree KEYS SEARCHES (default 2 M, 1 M; 128 MB).
#include "workload.h"

typedef struct Node {
  struct Node *left, *right;
  uint64_t key;
  uint64_t value[5];
} Node;

static Node* nodes;
static uint32_t* order;

// The tree of the sorted keys first .. last - 1; key i is 2 * i and in node order[i].
static Node* make(uint32_t first, uint32_t last) {
  if (first == last) return NULL;
  uint32_t middle = first + (last - first) / 2;
  Node* node = &nodes[order[middle]];
  node->key = 2 * (uint64_t)middle;
  node->value[0] = middle ^ 0x55;
  node->left = make(first, middle);
  node->right = make(middle + 1, last);
  return node;
}

int main(int argc, char** argv) {
  uint32_t keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 2u << 20;
  uint32_t searches = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1u << 20;
  if (keys == 0) return 1;
  uint64_t random = 11, sum = 0;
  nodes = allocate(keys * sizeof(Node));
  order = allocate(keys * sizeof(uint32_t));
  shuffle(order, keys, &random);
  const Node* root = make(0, keys);
  for (uint32_t i = 0; i < searches; i++) {
    uint64_t key = (uint64_t)random_next(&random) * (2 * (uint64_t)keys) >> 32;
    const Node* node = root;
    while (node != NULL && node->key != key) node = key < node->key ? node->left : node->right;
    sum += node != NULL ? node->value[0] : 1;
  }
  return report("tree", sum);
}
