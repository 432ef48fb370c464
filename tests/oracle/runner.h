// Takes the units of a source through QEMU and through our machine, on several threads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare.h"
#include "kvrm/machine.h"
#include "source.h"

namespace kvrm::oracle {

struct RunOptions {
  Qemu qemu;
  Options machine;
  unsigned jobs = 2;
  uint64_t memory_seed = 1;
  std::string corpus_out;  // empty: none
  bool progress = false;
  // Compared in everything, with no exceptions: a second QEMU run instead of our machine (a test of the harness), or
  // our machine with its CPU device instead of QEMU.
  bool against_itself = false, against_cpu = false;
};

struct Count {
  uint64_t passed = 0, failed = 0;
};

struct Summary {
  Count total;
  uint64_t regions = 0;  // that were translated
  std::map<std::string, Count> rows;
  std::map<std::string, uint64_t> kinds;  // what differed, without the numbers, and how often
  std::vector<Mismatch> mismatches;  // the first few, in the order of the units
  std::vector<std::string> errors;   // QEMU did not run, a machine could not be made
};
inline constexpr std::size_t kMismatchesKept = 20;

Summary run(const Table& table, const Memory& memory, const Source& source, const RunOptions& options);

}  // namespace kvrm::oracle
