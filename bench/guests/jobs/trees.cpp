// The expressions of ../real/trees.cpp: so many of the job's own.
#include "../real/trees.cpp"

#include "job.h"

int main() {
  Job job = read_job();
  state = job.seed;
  run(static_cast<int>(job.size));
}
