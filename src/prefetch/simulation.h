// What prefetching would do for a program: its accesses, as they happen, go through models of caches, once for each
// scheme. All schemes see the same misses: those of a small cache into which nothing is prefetched. A model, not a
// measurement; its constants are below.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "neural/freestanding/oracle_network.h"
#include "prefetch/cache_model.h"
#include "prefetch/freestanding/best_offset.h"
#include "prefetch/freestanding/indirect.h"
#include "prefetch/freestanding/stride.h"
#include "prefetch/freestanding/temporal.h"

namespace kvrm::prefetch {

// A lane that is alone on an H200 and runs translated code: 59 M instructions a second at 1.98 GHz; latencies as
// measured by others (Hopper). All in cycles of the multiprocessor.
struct Costs {
  u32 instruction = 33;
  u32 near = 270;  // of a load that the large cache has
  u32 far = 800;  // of one that it does not have
  u32 apply = 100;  // of a miss that is looked at
  u32 learn = 1000;  // of one from which counters learn
  u32 history = 150;  // of a miss that the temporal policy notes
  u32 peek = 60;  // of an index that is read ahead
  u32 issue = 20;
  u64 inference = u64{neural::kOracleSteps} * 40 * 1980;  // 40 microseconds a step for one warp
};

inline constexpr u64 kSmallBytes = u64{32} << 10, kLargeBytes = u64{50} << 20;
inline constexpr u32 kSmallWays = 8, kLargeWays = 16;

// What one scheme did, of what happened while it was counted.
struct Score {
  std::string name;
  u64 issued = 0;  // prefetches, without those of lines that wait for their use
  u64 covered = 0;  // misses of the small cache whose line 32 KB of the latest prefetches held
  u64 fetched = 0;  // prefetched lines that the large cache did not have
  u64 far_covered = 0;  // of them, lines that were needed
  u64 in_time = 0;  // and had arrived
  u64 far_misses = 0;  // loads that memory served
  u64 cycles = 0, overhead = 0;  // overhead: of the cycles, those of prefetching, without inferences
  u64 inferences = 0;
  u64 inference_cycles = 0;  // not part of `cycles`
};

struct Totals {
  u64 instructions = 0, loads = 0, stores = 0;
  u64 misses = 0;  // loads that miss the small cache
  std::vector<Score> scores;  // no prefetching first
};

// Reads up to 8 bytes of the guest at an address, without any effect on it; false: it must not.
using Peek = std::function<bool(u64 address, u32 size, u64& value)>;

// What policies know, the same for all schemes.
struct Knowledge {
  explicit Knowledge(u32 history_bits);
  void observe(const Load& load, bool missed);

  Stride<12> strides;
  BestOffset best_offset;
  Indirect<10> indirect;
  std::vector<u32> history, index;
  Temporal temporal;
};

class Scheme;
class Recorder;

class Simulation {
 public:
  struct Settings {
    u64 warm_up = 0;  // accesses that are not counted
    std::vector<std::shared_ptr<const neural::OracleNetwork>> networks = {};
    u32 next_line_level = 2, stride_level = 2, temporal_level = 2, indirect_level = 3;
    u32 history_bits = 22;
  };
  Simulation(const Settings& settings, Peek peek);
  ~Simulation();

  // In the program's order. `instructions`: retired before.
  void load(const Load& load, u64 instructions);
  void store(u64 address, u64 instructions);
  Totals totals() const;

 private:
  void count(u64 instructions);

  const Settings settings_;
  const Peek peek_;
  CacheModel small_{kSmallBytes, kSmallWays};
  Knowledge knowledge_;
  std::vector<std::unique_ptr<Scheme>> schemes_;
  Totals totals_;
  u64 accesses_ = 0, misses_ = 0;
  u64 first_instruction_ = 0, last_instruction_ = 0;
};

}  // namespace kvrm::prefetch
