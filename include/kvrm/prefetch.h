// What prefetching would do for a program, by a model of caches (docs/co-processors.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/models.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// Cycles are those of the model, of a lane that is alone on a GPU.
struct PrefetchScore {
  std::string scheme;
  std::uint64_t issued = 0;  // prefetches
  std::uint64_t covered = 0;  // misses of a cache of 32 KB whose line the latest 32 KB of prefetches had
  std::uint64_t fetched = 0;  // prefetched lines that a cache of 50 MB did not have
  std::uint64_t far_covered = 0;  // of them, lines that were needed
  std::uint64_t in_time = 0;  // of these, lines that had arrived
  std::uint64_t far_misses = 0;  // loads that had to wait for memory
  std::uint64_t cycles = 0;  // without inferences
  std::uint64_t overhead = 0;  // of the cycles, what prefetching itself costs
  std::uint64_t inferences = 0, inference_cycles = 0;
};

struct PrefetchReport {
  std::uint64_t instructions = 0, loads = 0, stores = 0;
  std::uint64_t misses = 0;  // loads that miss a cache of 32 KB
  std::vector<PrefetchScore> scores;  // no prefetching first, a perfect prefetcher last
};

struct PrefetchLimits {
  std::uint64_t skip = 0;  // instructions before the first access that counts
  std::uint64_t accesses = 8'000'000;  // loads and stores that are followed
  std::uint64_t warm_up = 2'000'000;  // of them, those before the scores begin
  int level = -1;  // log2 of the distance of the policies that have a fixed one; -1: each has its own
};

// Runs the program on the interpreter and shows its accesses to all schemes, each of the given networks among them:
// weights of the memory oracle.
KVRM_API Result<PrefetchReport> evaluate_prefetch(const Program& program, const PrefetchLimits& limits,
                                                  std::span<const WeightsPointer> networks);

// What the network chooses for the loads of a program that miss often, in ascending order of pc: from the same run as
// evaluate_prefetch()'s, the first choice for each load. `network`: of the memory oracle.
KVRM_API Result<std::vector<PrefetchChoice>> choose_prefetches(const Program& program, const PrefetchLimits& limits,
                                                               const Weights& network);

// What the network learns from: records of a fixed number of floats (src/prefetch/recorder.h).
KVRM_API Result<std::vector<float>> record_misses(const Program& program, const PrefetchLimits& limits);

}  // namespace kvrm
