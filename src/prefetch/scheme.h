// One way to prefetch, and the caches as they are with it.
#pragma once

#include <unordered_map>

#include "prefetch/chooser.h"
#include "prefetch/freestanding/counters.h"
#include "prefetch/freestanding/next_line.h"
#include "prefetch/freestanding/site_window.h"
#include "prefetch/simulation.h"

namespace kvrm::prefetch {

// A load as schemes see it.
struct Seen {
  const Load& load;
  bool missed;  // the small cache
  u64 instructions;  // of the lane so far
  u64 misses;
  const Knowledge& knowledge;
  const Peek& peek;
};

class Scheme {
 public:
  explicit Scheme(std::string name) { score_.name = std::move(name); }
  virtual ~Scheme() = default;

  void load(const Seen& seen);
  // A store that missed brings its line in, and nothing waits for it.
  void store(u64 line, u64 instructions);
  void begin_counting();
  const Score& score() const { return score_; }

 protected:
  // Any load: it has its value now.
  virtual void any(const Seen&) {}
  // After that, a load that missed.
  virtual void missed(const Seen&) {}
  virtual bool is_perfect() const { return false; }

  void issue(u64 address);
  void charge(u64 cycles) { score_.overhead += cycles, score_.cycles += cycles, extra_ += cycles; }
  void infer(u64 cycles) { ++score_.inferences, score_.inference_cycles += cycles; }
  // Prefetches what a policy expects of this load; not for the indirect one.
  void apply(const Seen& seen, Choice choice);
  u64 now() const { return now_; }
  u64 asked() const { return asked_; }  // when the load began; now() is when it ended

 private:
  void need(u64 line);

  CacheModel buffer_{kSmallBytes, kSmallWays};  // the latest prefetches that nothing needed yet
  CacheModel large_{kLargeBytes, kLargeWays};
  u64 now_ = 0, asked_ = 0, extra_ = 0;  // extra: cycles beyond those of instructions
  Score score_;
};

// A policy at one distance.
class FixedScheme final : public Scheme {
 public:
  FixedScheme(std::string name, Choice choice) : Scheme(std::move(name)), choice_(choice) {}

 private:
  void missed(const Seen& seen) override;
  void any(const Seen& seen) override;

  Choice choice_;
};

class BestOffsetScheme final : public Scheme {
 public:
  BestOffsetScheme() : Scheme("best offset") {}

 private:
  void missed(const Seen& seen) override;
};

// No load waits for memory, at no cost: the ceiling.
class PerfectScheme final : public Scheme {
 public:
  PerfectScheme() : Scheme("perfect") {}

 private:
  bool is_perfect() const override { return true; }
};

// Counters learn from some misses and choose for all.
class CountersScheme final : public Scheme {
 public:
  CountersScheme() : Scheme("counters") {}

 private:
  void missed(const Seen& seen) override;
  void any(const Seen& seen) override;
  bool learns() const { return misses_ < kFirst || misses_ % period_ < kBurst; }
  void learn(const Seen& seen);

  // In misses: how long it learns at first, and how long in each period. Periods in which nothing was worth doing are
  // followed by a longer one.
  static constexpr u64 kFirst = 8192, kBurst = 1024, kPeriod = 16384, kLongPeriod = 65536;
  using Table = Counters<10, 14, Costs{}.far>;
  std::unique_ptr<Table> counters_ = std::make_unique<Table>();
  u64 misses_ = 0, period_ = kPeriod, issued_before_ = 0;
};

// The network chooses for each load once, and again when it has missed many times.
class NetworkScheme final : public Scheme {
 public:
  NetworkScheme(std::string name, std::shared_ptr<const neural::OracleNetwork> network)
      : Scheme(std::move(name)), network_(std::move(network)) {}

 private:
  void missed(const Seen& seen) override;
  void any(const Seen& seen) override;

  struct Site {
    SiteWindow window;
    Choice choice;
  };
  const std::shared_ptr<const neural::OracleNetwork> network_;
  std::unordered_map<u64, Site> sites_;
  bool any_indirect_ = false;
};

}  // namespace kvrm::prefetch
