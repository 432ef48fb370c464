// Translated code for lanes on a GPU: what is known of a program from earlier runs is there when it starts; otherwise
// the first launches are cut short to see where the lanes are, that is translated while they run on, and then they
// go on with it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/folder.h"
#include "device/cuda/lane_set.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "machine/dispatching.h"
#include "machine/gpu_rounds.h"
#include "translator/gpu_store.h"
#include "translator/gpu_translator.h"

namespace kvrm {

// Whose lanes run regions: a GPU, or what a test has instead.
class RegionTarget {
 public:
  virtual ~RegionTarget() = default;
  virtual translator::LaneKind kind() const = 0;
  // How often lanes were found at each word since the last time.
  virtual Result<std::vector<u32>> heat() = 0;
  // Whether FPCR is zero and inexact sticky in most lanes.
  virtual Result<bool> usual_float() = 0;
  virtual Result<std::vector<std::byte>> link(const std::string& ptx) = 0;
  virtual Result<device::cuda::GpuPointer> load(std::span<const std::byte> image) = 0;
  // The lanes go on with this. An error is the device's.
  virtual Result<void> take(device::cuda::GpuPointer code, std::span<const device::cuda::LaneSet::Region> regions) = 0;
};

// Lanes on `gpu`, whose kernel is the one without regions.
std::unique_ptr<RegionTarget> make_target(device::cuda::GpuPointer gpu, device::cuda::LaneSet& set);

class GpuRegions {
 public:
  struct Settings {
    GpuRounds rounds;
    double budget_seconds = 1e9;  // of compiling and linking
    double share = 1;  // the part of a program's time, its own and the compilers', that these may take
    bool overlaps = false;  // lanes run on while compilers work; otherwise they wait
    bool abandons = false;  // whoever destroys this does not wait for compilers; the process must not exit()
    cache::Folder folder;         // where code is kept; none: nowhere
    std::string key;              // what code depends on, beside the guest's and how the lanes lie
    std::string reason;           // for Statistics::launches_reason
    std::function<void(const std::string&)> notice;  // says why nothing is translated
  };
  // Null if the options ask for the interpreter, or there is no other way here; who asked for translated code is told.
  static std::unique_ptr<GpuRegions> create(const Options& options, const Dispatching& dispatching,
                                            const device::cuda::Gpu& gpu);
  explicit GpuRegions(Settings settings) : settings_(std::move(settings)) {}
  ~GpuRegions();
  const Settings& settings() const { return settings_; }
  // From now on nothing is read from the disk nor written to it.
  void leave_cache() { settings_.folder = {}; }

  // The target has been given the programs with this code and has not run yet. `images` keep the words alive.
  // In all of these who cancels does not wait for compilers: they go on, and what they make is taken by the next to
  // ask.
  Result<void> begin(std::unique_ptr<RegionTarget> target, std::vector<translator::SharedCode> codes,
                     std::vector<std::shared_ptr<const memory::Image>> images = {},
                     const std::atomic<bool>* cancel = nullptr);
  // Whether it wants to know where raw lanes begin, before they do: numbers of words of all images.
  bool expects() const { return settings_.rounds.at_once; }
  Result<void> expect(std::span<const u32> words, const std::atomic<bool>* cancel = nullptr);
  // How the next launch is to be. `usual`: the most any launch may take; 0: no limit.
  device::cuda::LaneSet::Slice next(std::chrono::milliseconds usual) const;
  // A launch was cut short, and this is how the next one is to be.
  Result<device::cuda::LaneSet::Slice> paused(std::chrono::milliseconds usual,
                                              const std::atomic<bool>* cancel = nullptr);
  // Before the first launch of a run: takes what an earlier run did not wait for.
  Result<void> settle(const std::atomic<bool>* cancel = nullptr);

  // Nothing was translated, nor will it be.
  bool has_failed() const { return failed_ && code_.heads.empty(); }
  void add_to(Statistics& statistics) const;  // those of other lanes may be in it

 private:
  std::string key_now() const;
  bool may_translate() const;
  bool is_over() const;
  Result<void> take();
  void restart();
  // What a choice of so many words is expected to cost, from what there was.
  double predicted_seconds(u64 words) const;
  // How long lanes must run before that much more compiling is within its share of the time.
  double seconds_before(double cost) const;
  // What compilers have made. Nothing is loaded onto the GPU by them: kernels may run there, and loading waits for
  // them.
  struct Made {
    translator::GpuTranslation translation;
    Result<std::vector<std::byte>> image;
    double seconds = 0, link_seconds = 0;
  };
  static Made compile(translator::GpuTranslator& translator, RegionTarget& target);
  bool is_ready(const std::atomic<bool>* cancel);  // where lanes do not run on it waits until it is, or is cancelled
  bool adopt(Made made);
  Result<void> look(const std::atomic<bool>* cancel);
  Result<void> make(const std::atomic<bool>* cancel);
  void fail(const std::string& why);
  void save();

  Settings settings_;
  std::shared_ptr<RegionTarget> target_;
  std::vector<translator::SharedCode> codes_;
  std::vector<std::shared_ptr<const memory::Image>> images_;
  std::string key_;  // of what follows
  std::shared_ptr<translator::GpuTranslator> translator_;  // null until something is to be made
  translator::StoredGpuCode code_;
  device::cuda::GpuPointer linked_;
  u64 counts_ = 0;  // how many the target has, twice the words of all images
  std::vector<u32> heat_;  // of all rounds
  std::vector<bool> expected_;  // words
  translator::GpuLimits limits_;
  u32 round_ = 0;
  bool chosen_ = false;  // something is to be made, when that is affordable
  double run_seconds_ = 0;  // of the lanes, with this program
  std::chrono::steady_clock::time_point resumed_ = std::chrono::steady_clock::now();
  u64 made_here_ = 0;  // words of this program's regions that the compiler has made in this process
  double made_words_ = 0, links_ = 0;  // by compilers so far, for all programs
  u64 cached_ = 0;
  bool failed_ = false;
  double seconds_ = 0, link_seconds_ = 0;
  double seconds_before_ = 0;  // of both, for other programs
  std::future<void> saving_;  // of the last file; whoever destroys this waits
  std::future<Made> pending_;
  // Of programs that are not here now, by their keys; whoever destroys this may wait.
  std::map<std::string, std::future<Made>> others_;
  void set_pending_aside();
};

}  // namespace kvrm
