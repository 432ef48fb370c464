// The translator of a machine: makes regions, now or in a thread of its own, and knows those there are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/folder.h"
#include "translator/plan.h"
#include "translator/region.h"

namespace kvrm::translator {

struct Settings {
  // How often a place must be found running before it is translated. 0: everything is, before it first runs.
  u32 threshold = 16;
  bool in_background = true;
  double budget_seconds = 1e9;  // of compiling
  PlanLimits limits;
  cache::Folder folder;  // where regions are kept; none: nowhere
  std::string router;    // who says what words are; regions are kept for each apart
  bool common = false;   // lanes share one memory
};

struct Counts {
  u64 regions = 0;     // made or taken from the cache
  u64 from_cache = 0;  // of them
  u64 words = 0;       // guest words in them, with repetitions
  double seconds = 0;  // spent compiling and linking
};

// Safe for any number of lanes.
class Translator {
 public:
  // Null, and why, if there is no translator in this build or for this host.
  static std::shared_ptr<Translator> create(const Settings& settings, std::string& error);
  virtual ~Translator() = default;

  const Settings& settings() const { return settings_; }

  // Programs are named by a hash of the code they start with: regions are kept on disk for each.
  // Gives what was warm in earlier runs.
  virtual WarmPlaces open(u64 program) = 0;
  // What was warm in this one, for later runs.
  virtual void remember(u64 program, const WarmPlaces& places) = 0;
  // A region with this head, made now or earlier, whose source passes. Null if there is none.
  virtual RegionPointer find(u64 head, const std::function<bool(const Source&)>& matches) = 0;
  // Translates at once. Null if that cannot be done.
  virtual RegionPointer translate(const Plan& plan, u64 program) = 0;
  // Translates when there is time, the most urgent first.
  virtual void request(Plan plan, u32 urgency, u64 program) = 0;
  // Requested regions that have been finished since the caller asked last; `seen` is the caller's place in the list.
  virtual std::vector<RegionPointer> finished(std::size_t& seen) = 0;
  virtual Counts counts() const = 0;

 protected:
  explicit Translator(const Settings& settings) : settings_(settings) {}

 private:
  const Settings settings_;
};

}  // namespace kvrm::translator
