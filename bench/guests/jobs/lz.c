// The compressor of ../real/lz.c, with so many bytes of a text of the job's own.
#include "../real/lz.c"
#include "job.h"

int main(void) {
  Job job = read_job();
  return round_trip(make_text_of(job.size, job.seed), job.size);
}
