// The translator of a machine: compiles regions, at once or in a thread, and finds the ones there are.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cache/folder.h"
#include "translator/host/profile.h"
#include "translator/plan.h"
#include "translator/region.h"

namespace kvrm::translator {

enum class Tiers { kAll, kQuick, kRegions };  // beside the interpreter

struct Settings {
  // None: code is translated when interpreting it has taken as long as translating it will, within a share of the run
  // time. A number: when it has so many samples, whatever that costs. 0: everything, before it first runs.
  std::optional<u32> threshold;
  Tiers tiers = Tiers::kAll;
  bool in_background = true;
  double budget_seconds = 1e9;  // of compiling
  // Bytes of the regions of all lanes and their bookkeeping. Beyond that the least recently used regions are freed.
  u64 most_bytes = u64{256} << 20;
  PlanLimits limits;
  cache::Folder folder;  // where regions are stored; none: nowhere
  bool routes_by_table = true;
  std::string router;  // decides what words are; each router has its own regions
  bool shares_memory = false;  // lanes share one memory
  bool abandons = false;  // the destructor does not wait for a compiler; the process must not exit()
  bool perf_map = false;  // lists regions in /tmp/perf-PID.map, for perf

  bool everything() const { return threshold == 0u; }
};

class QuickPages;

struct Counts {
  u64 regions = 0;  // compiled or loaded from the cache
  u64 from_cache = 0;  // of them
  u64 words = 0;  // guest words in them, with repetitions
  u64 distinct_words = 0;
  u64 bytes = 0;  // of regions now, estimated
  double seconds = 0;  // of processor time spent compiling and linking
  double link_seconds = 0;  // of them, linking
  // Estimated from samples.
  double interpreted = 0, quick = 0, translated = 0;  // instructions
  double interpreter_seconds = 0, quick_seconds = 0, region_seconds = 0;
  u64 quick_pages = 0;
  double quick_translation_seconds = 0;
};

// A program's profile, for all lanes that run it.
struct SharedProfile {
  std::mutex mutex;
  Profile profile;
  // In this run of the program.
  std::atomic<double> run_seconds = 0, compile_seconds = 0, instructions = 0;
  // Pages that the quick tier's code paid off for in earlier runs. Does not change.
  std::shared_ptr<const std::unordered_set<u64>> busy_pages;
};

// Safe for any number of lanes.
class Translator {
 public:
  // Null, and why, if there is no translator in this build or for this host.
  static std::shared_ptr<Translator> create(const Settings& settings, std::string& error);
  virtual ~Translator() = default;

  const Settings& settings() const { return settings_; }
  // Null: there is no quick tier.
  const std::shared_ptr<QuickPages>& quick_pages() const { return quick_pages_; }

  // Programs are named by a hash of the code they start with: each has its regions on disk.
  virtual std::shared_ptr<SharedProfile> open(u64 program) = 0;
  // From now on the disk is neither read nor written.
  virtual void leave_cache() = 0;
  using Matches = std::function<bool(const Source&)>;
  // A linked region with this entry whose source passes; null if there is none. Does not wait when there is none.
  virtual RegionPointer find(u64 entry_pc, const Matches& matches) = 0;
  // The same from the disk.
  virtual RegionPointer find_stored(u64 entry_pc, const Matches& matches) = 0;
  // Translates at once. Null if that cannot be done.
  virtual RegionPointer translate(const Plan& plan, u64 program) = 0;
  // Translates in the background, the most urgent first.
  virtual void request(Plan plan, double urgency, u64 program) = 0;
  // Regions made since the last call; `seen` is the caller's position in the list.
  virtual std::vector<RegionPointer> finished(std::size_t& seen) = 0;

  // Entries whose regions were freed since, `seen` as above.
  virtual std::vector<u64> forgotten(std::size_t& seen) = 0;
  // Changes when lanes hold too many regions: they release theirs and soon find again those that they use.
  virtual u64 pressure() const = 0;

  // What a lane has done since it last reported.
  struct Run {
    double seconds = 0, interpreter_seconds = 0, quick_seconds = 0;
    double interpreted = 0, quick = 0, translated = 0;  // instructions
  };
  virtual void ran(SharedProfile& program, const Run& run) = 0;
  // How many seconds a word will take to compile, from those so far.
  virtual double seconds_a_word() const = 0;
  // How many seconds of compiling are left of what is granted: a share of the time that lanes have run. The profile is
  // locked.
  virtual double seconds_left(const SharedProfile& program) const = 0;
  virtual Counts counts() const = 0;

 protected:
  Translator(const Settings& settings, std::shared_ptr<QuickPages> quick_pages)
      : settings_(settings), quick_pages_(std::move(quick_pages)) {}

 private:
  const Settings settings_;
  const std::shared_ptr<QuickPages> quick_pages_;
};

}  // namespace kvrm::translator
