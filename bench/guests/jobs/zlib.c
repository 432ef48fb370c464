// Deflate as in ../real/zlib.c: a text of the job's own in three messages, each with a level and a strategy of its own.
#include "../real/zlib.c"
#include "job.h"

int main(void) {
  Job job = read_job();
  unsigned char* text = make_text_of(job.size, job.seed);
  start(job.size);
  uint64_t sum = 0;
  for (size_t i = 0; i < 3; i++) {
    size_t from = job.size * i / 3, size = job.size * (i + 1) / 3 - from;
    int level = 1 + (int)(random_next(&job.seed) % 9), strategy = (int)(random_next(&job.seed) % 4);
    sum = round_trip(text + from, size, level, strategy, sum);
  }
  return report("zlib", sum);
}
