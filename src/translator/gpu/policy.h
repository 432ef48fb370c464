// When lanes on a GPU run translated code, and which. A program's stored code is installed before the first launch.
// Otherwise the first launches are short and sample where lanes are; compilers work while the lanes run on.
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
#include "memory/image.h"
#include "translator/gpu/device.h"
#include "translator/gpu/store.h"
#include "translator/gpu/translator.h"

namespace kvrm::translator {

// How one launch runs.
struct GpuLaunch {
  std::chrono::milliseconds time{0};  // the most it may take; 0: no limit
  u32 slice = 0;  // instructions of a lane's time slice
  bool samples = false;  // counts where lanes are (interpreter/freestanding/lane_region.h)
};

// When lanes are sampled.
struct GpuRounds {
  // Programs reach their long loops late, so there are several rounds, and each launch is `longer` times as long as the
  // last. A later run continues with the round after.
  u32 most = 8;
  std::chrono::milliseconds first{60};
  u32 longer = 2;
  bool waits = true;  // a launch takes at least as long as translation has taken so far
  // Instructions of a time slice in the first round and in later ones: its end is a sample, too.
  u32 first_slice = 61, slice = 4093;
  u32 fewest = 4;  // samples that make a word hot
  bool at_once = false;  // the pcs at which raw lanes start are translated before they run

  // The launch before the samples of `round` are read.
  GpuLaunch launch(u32 round) const;
  // A program runs for a second before anything is translated.
  static GpuRounds patient();
  // For tests: short launches, and one sample is enough.
  static GpuRounds eager();
};

// The code of the programs that lanes run.
struct GpuProgram {
  std::vector<SharedCode> codes;
  std::vector<std::shared_ptr<const memory::Image>> images;  // keep the words alive
  std::string digest;  // of all codes: the store trusts it, so no guest may find two programs with the same one
};

// All functions that take `cancel` return soon after it is set. Compilers work on, and the next call adopts their code.
class GpuPolicy {
 public:
  struct Settings {
    GpuRounds rounds;
    u32 interpreter_slice = 8192;  // instructions of a time slice without regions
    double budget_seconds = 1e9;  // of compiling and linking
    double share = 1;  // the part of a program's time, with that of the compilers, that compilers may take
    bool overlaps = false;  // lanes run while compilers work
    bool abandons = false;  // the destructor does not wait for compilers; the process must not exit()
    cache::Folder folder;  // where code is stored; none: nowhere
    std::string key;  // what code depends on, beside the program and the kind of lanes
    std::function<void(const std::string&)> notice;  // told why nothing is translated
  };
  struct Counts {
    u64 regions = 0, cached_regions = 0, words = 0;
    double seconds = 0, link_seconds = 0;  // `seconds` includes linking
  };

  explicit GpuPolicy(Settings settings) : settings_(std::move(settings)) {}
  ~GpuPolicy();
  const Settings& settings() const { return settings_; }
  // Gives the loops of bulk steps, of which these samples may show more (GpuTranslator::leave_loops()).
  using FindLoops =
      std::function<std::vector<GpuCodeRange>(std::span<const SharedCode> codes, std::span<const u32> samples)>;
  void find_loops_with(FindLoops find) { find_loops_ = std::move(find); }
  // From now on the disk is neither read nor written.
  void leave_cache() { settings_.folder = {}; }

  // The device holds the programs and has not run them yet.
  DeviceError begin(std::unique_ptr<GpuDevice> device, GpuProgram program, const std::atomic<bool>* cancel = nullptr);
  // Whether the caller says with expect() where raw lanes start, as numbers of words.
  bool expects() const { return settings_.rounds.at_once; }
  DeviceError expect(std::span<const u32> words, const std::atomic<bool>* cancel = nullptr);
  // How the next launch runs. `limit`: the most any launch may take; 0: no limit.
  GpuLaunch next(std::chrono::milliseconds limit) const;
  // A launch has ended before its lanes have: reads samples, translates, installs.
  DeviceError paused(const std::atomic<bool>* cancel = nullptr);
  // Before the first launch of a run: installs what compilers have finished.
  DeviceError settle(const std::atomic<bool>* cancel = nullptr);

  // No region exists and none will.
  bool has_failed() const { return failed_ && code_.entries.empty(); }
  Counts counts() const;

 private:
  // What compilers have made. They load nothing: loading waits for the kernels that run.
  struct Compiled {
    GpuTranslation translation;
    std::vector<std::byte> image;
    DeviceError error;
    double seconds = 0, link_seconds = 0;
  };

  std::string key_now() const;
  void start_program(std::string key);
  DeviceError use_stored(const std::atomic<bool>* cancel);
  bool may_translate() const;
  bool is_over() const;
  DeviceError install();
  void prepare_translator();
  // What compiling so many words is expected to take.
  double predicted_seconds(u64 words) const;
  // How long lanes must run before compilers may take that much more.
  double seconds_before(double cost) const;
  bool is_affordable() const;
  static Compiled compile(GpuTranslator& translator, GpuDevice& device);
  bool is_ready(const std::atomic<bool>* cancel);  // waits unless lanes run meanwhile
  bool adopt(Compiled compiled);
  DeviceError read_samples();
  void find_loops(std::span<const u32> samples);
  DeviceError translate_chosen(const std::atomic<bool>* cancel);
  void fail(const std::string& why);
  void save();
  void set_pending_aside();

  Settings settings_;
  std::shared_ptr<GpuDevice> device_;
  GpuProgram program_;
  std::string key_;  // of what follows
  std::shared_ptr<GpuTranslator> translator_;  // null until something is translated
  StoredGpuCode code_;
  LoadedKernel loaded_;
  u64 sample_count_ = 0;  // how many the device gives
  std::vector<u32> samples_;  // sums of all rounds
  std::vector<bool> expected_;  // words
  FindLoops find_loops_;
  std::vector<GpuCodeRange> loops_;  // of bulk steps
  GpuLimits limits_;
  u32 round_ = 0;
  bool chosen_ = false;  // the translator has regions to compile, when that is affordable
  double run_seconds_ = 0;  // of the lanes, with this program
  std::chrono::steady_clock::time_point resumed_ = std::chrono::steady_clock::now();
  u64 compiled_here_ = 0;  // words of this program's regions that this process has compiled
  double compiled_words_ = 0, links_ = 0;  // for all programs
  u64 cached_ = 0;
  bool failed_ = false;
  double seconds_ = 0, link_seconds_ = 0;  // of compiling, of linking
  double seconds_for_others_ = 0;  // of both, for other programs
  std::future<void> saving_;  // the destructor waits for it
  std::future<Compiled> pending_;
  std::map<std::string, std::future<Compiled>> others_;  // of programs that are not loaded now, by their keys
};

}  // namespace kvrm::translator
