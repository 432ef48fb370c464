// The language of ../real/calc.c: the line's text is a program, compiled and run so many times with another seed.
#include "../real/calc.c"
#include "job.h"

int main(void) {
  Job job = read_job();
  uint64_t result = 0;
  for (size_t i = 0; i < job.size; i++) {
    char program[8192];
    snprintf(program, sizeof program, "seed = %u; %s", random_next(&job.seed) % 100000, job.text);
    source = program;
    length = variables = 0;
    for (next(); token.kind != END;) statement();
    emit(STOP, 0);
    result = run(result);
  }
  return report("calc", result);
}
