// The index of ../real/words.cpp over so many lines of the job's own.
#include "../real/words.cpp"

#include "job.h"

int main() {
  Job job = read_job();
  state = job.seed;
  run(static_cast<unsigned>(job.size));
}
