// The records of ../real/records.c, as many as the line says.
#include "../real/records.c"
#include "job.h"

int main(void) {
  Job job = read_job();
  Record* records = allocate(job.size * sizeof *records);
  uint64_t sum = pass(records, job.size, &job.seed, 0);
  free(records);
  return report("records", sum);
}
