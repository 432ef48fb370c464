// What a job of a fleet is told: one line of stdin, "SEED SIZE" and perhaps a text after them. bench/gpu_jobs.py writes
// the lines. The programs are those of ../real, included without their main (-DKVRM_JOB).
#ifndef KVRM_JOB_H
#define KVRM_JOB_H

#include "../bench.h"

typedef struct {
  uint64_t seed;
  size_t size;
  const char* text;
} Job;

static inline Job read_job(void) {
  static char line[8192];
  if (!fgets(line, sizeof line, stdin)) {
    fprintf(stderr, "a job is a line \"SEED SIZE\"\n");
    exit(1);
  }
  Job job;
  char* rest;
  // Neighbors in a fleet have neighboring numbers: the multiplication takes their streams apart.
  job.seed = strtoull(line, &rest, 10) * 0x9e3779b97f4a7c15u;
  job.size = strtoull(rest, &rest, 10);
  job.text = rest;
  return job;
}

#endif
