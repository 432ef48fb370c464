// Breadth-first search of a random graph: bfs VERTICES EDGES_OF_EACH (default 2 M, 12; 112 MB).
#include "workload.h"

int main(int argc, char** argv) {
  uint32_t vertices = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 2u << 20;
  uint32_t degree = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 12;
  if (vertices == 0 || degree == 0) return 1;
  uint64_t random = 31, sum = 0;
  uint32_t* first = allocate((vertices + 1) * sizeof(uint32_t));
  uint32_t* edges = allocate((uint64_t)vertices * degree * sizeof(uint32_t));
  uint32_t* depth = allocate(vertices * sizeof(uint32_t));
  uint32_t* queue = allocate(vertices * sizeof(uint32_t));
  uint32_t count = 0;
  for (uint32_t i = 0; i < vertices; i++) {
    first[i] = count;
    depth[i] = 0;
    uint32_t mine = i % 3 == 0 ? degree : degree / 2;
    for (uint32_t j = 0; j < mine; j++) edges[count++] = (uint32_t)((uint64_t)random_next(&random) * vertices >> 32);
  }
  first[vertices] = count;
  uint32_t head = 0, tail = 0;
  queue[tail++] = 0;
  depth[0] = 1;
  while (head < tail) {
    uint32_t vertex = queue[head++];
    for (uint32_t i = first[vertex]; i < first[vertex + 1]; i++) {
      uint32_t to = edges[i];
      if (depth[to] != 0) continue;
      depth[to] = depth[vertex] + 1;
      queue[tail++] = to;
    }
    sum += depth[vertex];
  }
  return report("bfs", sum + tail);
}
