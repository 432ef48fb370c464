// The translator of a machine: makes regions, now or in a thread of its own, and knows those there are.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/folder.h"
#include "translator/plan.h"
#include "translator/profile.h"
#include "translator/region.h"

namespace kvrm::translator {

struct Settings {
  // None: code is translated when interpreting it has taken as long as translating it will, within a share of the run
  // time. A number: when it has been sampled so often, whatever that costs. 0: everything, before it first runs.
  std::optional<u32> threshold;
  bool in_background = true;
  double budget_seconds = 1e9;  // of compiling
  // Regions of all lanes together, with what is known of them. Beyond that those go that were not asked for longest.
  u64 most_bytes = u64{256} << 20;
  PlanLimits limits;
  cache::Folder folder;  // where regions are kept; none: nowhere
  std::string router;  // who says what words are; regions are kept for each apart
  bool common = false;  // lanes share one memory
  bool abandons = false;  // a compiler may still be at work when the last reference goes; the process must not exit()
  bool perf_map = false;  // names regions in /tmp/perf-PID.map, for perf

  bool everything() const { return threshold == 0u; }
};

struct Counts {
  u64 regions = 0;  // made or taken from the cache
  u64 from_cache = 0;  // of them
  u64 words = 0;  // guest words in them, with repetitions
  u64 distinct_words = 0;
  u64 bytes = 0;  // that regions take now, estimated
  double seconds = 0;  // of processor time spent compiling and linking
  double link_seconds = 0;  // of them, linking
  // How lanes ran, estimated from samples.
  double interpreted = 0, translated = 0;  // instructions
  double interpreter_seconds = 0, region_seconds = 0;
};

// What lanes found out about a program, for all of them.
struct SharedProfile {
  std::mutex mutex;
  Profile profile;
  // Of this run of the program.
  std::atomic<double> run_seconds = 0, compile_seconds = 0;
};

// Safe for any number of lanes.
class Translator {
 public:
  // Null, and why, if there is no translator in this build or for this host.
  static std::shared_ptr<Translator> create(const Settings& settings, std::string& error);
  virtual ~Translator() = default;

  const Settings& settings() const { return settings_; }

  // Programs are named by a hash of the code they start with: regions are kept on disk for each.
  virtual std::shared_ptr<SharedProfile> open(u64 program) = 0;
  // From now on nothing is read from the disk nor written to it.
  virtual void leave_cache() = 0;
  using Matches = std::function<bool(const Source&)>;
  // A region with this entry that is linked already and whose source passes; null if there is none, which is found out
  // without waiting for anybody.
  virtual RegionPointer find(u64 head, const Matches& matches) = 0;
  // The same from the disk.
  virtual RegionPointer find_stored(u64 head, const Matches& matches) = 0;
  // Translates at once. Null if that cannot be done.
  virtual RegionPointer translate(const Plan& plan, u64 program) = 0;
  // Translates when there is time, the most urgent first.
  virtual void request(Plan plan, double urgency, u64 program) = 0;
  // Regions that have been made since the caller asked last; `seen` is the caller's place in the list.
  virtual std::vector<RegionPointer> finished(std::size_t& seen) = 0;

  // Entries whose regions have gone since, `seen` as above.
  virtual std::vector<u64> forgotten(std::size_t& seen) = 0;
  // Changes when there are too many regions that lanes hold: they let go of theirs, and soon find those again that they
  // use.
  virtual u64 pressure() const = 0;

  // A lane has run for so long since it last said so.
  struct Run {
    double seconds, interpreter_seconds;
    double interpreted, translated;  // instructions
  };
  virtual void ran(SharedProfile& program, const Run& run) = 0;
  // How many seconds a word will take, from those there were.
  virtual double seconds_a_word() const = 0;
  // How many seconds of compiling are left of what is granted: a share of the time that lanes have run. The profile is
  // locked.
  virtual double seconds_left(const SharedProfile& program) const = 0;
  virtual Counts counts() const = 0;

 protected:
  explicit Translator(const Settings& settings) : settings_(settings) {}

 private:
  const Settings settings_;
};

}  // namespace kvrm::translator
