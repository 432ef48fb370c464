#include "translator/gpu/policy.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>

#include "interpreter/freestanding/lane_region.h"

namespace kvrm::translator {
namespace {

// What compilers are expected to take before they have run: an H200's driver and 16 cores.
constexpr double kExpectedSecondsPerWord = 2e-3, kExpectedLinkSeconds = 0.2;
constexpr double kExpectedWords = 64;
// Lanes pause this often while compilers work, to see whether they have finished.
constexpr std::chrono::milliseconds kShortestLaunch{20};
// Instructions of a time slice when regions run.
constexpr u32 kRegionSlice = 1u << 14;

// Adds to `seconds` what the work takes.
template <class Work>
auto timed(double& seconds, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

// For debugging: the environment variable KVRM_GPU_JIT_PTX names a file.
void dump_text(const std::string& ptx) {
  if (const char* to = std::getenv("KVRM_GPU_JIT_PTX")) std::ofstream(to) << ptx;
}

bool is_set(const std::atomic<bool>* cancel) { return cancel && cancel->load(std::memory_order_relaxed); }

u32 saturating_sum(u32 a, u32 b) { return a + std::min(b, std::numeric_limits<u32>::max() - a); }

u64 regions_of(std::span<const GpuRegionEntry> entries) {
  u64 count = 0;
  for (const auto& entry : entries) count = std::max<u64>(count, u64{entry.region} + 1);
  return count;
}

}  // namespace

GpuLaunch GpuRounds::launch(u32 round) const {
  GpuLaunch launch{first, round == 0 ? first_slice : slice, true};
  for (u32 i = 0; i < round; ++i) launch.time *= longer;
  return launch;
}

GpuRounds GpuRounds::patient() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(1000);
  rounds.first_slice = rounds.slice;
  rounds.most = 5;
  return rounds;
}

GpuRounds GpuRounds::eager() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(5);
  rounds.most = 4;
  rounds.fewest = 1;
  rounds.waits = false;
  rounds.at_once = true;
  return rounds;
}

// Samples are worth storing even if nothing was translated yet.
GpuPolicy::~GpuPolicy() {
  if (round_ != 0 && code_.image.empty() && !failed_) save();
}

std::string GpuPolicy::key_now() const {
  return settings_.key + " code " + program_.digest + " samples " + std::to_string(sample_count_) +
         (device_->kind().alone ? " alone" : " together") + (device_->kind().shares_memory ? " shared" : "") +
         " window " + std::to_string(device_->kind().window_shift);
}

DeviceError GpuPolicy::begin(std::unique_ptr<GpuDevice> device, GpuProgram program, const std::atomic<bool>* cancel) {
  if (pending_.valid()) {
    if (is_ready(cancel)) {
      (void)adopt(pending_.get());
    } else if (!settings_.overlaps) {
      set_pending_aside();
      key_.clear();
    }
  }
  device_ = std::move(device);
  program_ = std::move(program);
  std::vector<u32> discarded;  // sampling starts now
  if (auto error = device_->samples(discarded)) return error;
  sample_count_ = discarded.size();
  std::string key = key_now();
  resumed_ = std::chrono::steady_clock::now();
  if (key == key_) return loaded_ ? install() : std::nullopt;
  start_program(std::move(key));
  find_loops(std::vector<u32>(sample_count_));  // some may be known
  return use_stored(cancel);
}

void GpuPolicy::start_program(std::string key) {
  set_pending_aside();
  key_ = std::move(key);
  if (auto compiled = others_.extract(key_)) pending_ = std::move(compiled.mapped());
  translator_.reset();
  loaded_.reset();
  samples_.clear();
  expected_.clear();
  loops_.clear();
  limits_ = {};
  code_ = {};
  round_ = 0;
  chosen_ = false;
  compiled_here_ = 0;
  run_seconds_ = 0;
  cached_ = 0;
  seconds_for_others_ = seconds_ + link_seconds_;
}

DeviceError GpuPolicy::use_stored(const std::atomic<bool>* cancel) {
  if (saving_.valid()) saving_.wait();
  auto stored = GpuStore(settings_.folder, key_).find();
  if (!stored) return {};
  code_ = *std::move(stored);
  round_ = code_.rounds;
  std::vector<u32> known(sample_count_);
  for (const auto& sampled : code_.samples) {
    if (sampled.word < known.size()) known[sampled.word] = sampled.count;
  }
  find_loops(known);
  if (!code_.image.empty()) {
    if (!timed(link_seconds_, [&] { return device_->load(code_.image, loaded_); })) {
      cached_ = regions_of(code_.entries);
      return install();
    }
    code_.image.clear();
    code_.words = 0;
  }
  // No image was stored, or the driver refuses it. The regions are chosen all the same.
  if (!may_translate()) {
    code_ = {};
    round_ = 0;
    return {};
  }
  prepare_translator();
  chosen_ = !code_.entries.empty() ||
            translator_->choose(program_.codes, samples_, settings_.rounds.slice, code_.default_fp_mode != 0);
  code_.entries.clear();
  return chosen_ && is_affordable() ? translate_chosen(cancel) : std::nullopt;
}

// The program adopts it when it is loaded again.
void GpuPolicy::set_pending_aside() {
  constexpr std::size_t kMost = 8;
  if (!pending_.valid()) return;
  if (!key_.empty()) others_[key_] = std::move(pending_);
  pending_ = {};
  const auto is_done = [](const auto& other) {
    return other.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  if (others_.size() > kMost) std::erase_if(others_, is_done);
}

double GpuPolicy::predicted_seconds(u64 words) const {
  const double per_word = (seconds_ + kExpectedSecondsPerWord * kExpectedWords) / (compiled_words_ + kExpectedWords);
  const double per_link = (link_seconds_ + kExpectedLinkSeconds) / (links_ + 1);
  return per_word * static_cast<double>(words - std::min(words, compiled_here_)) + per_link;
}

double GpuPolicy::seconds_before(double cost) const {
  const double spent = seconds_ + link_seconds_ - seconds_for_others_;
  return (spent + cost) * (1 - settings_.share) / settings_.share - run_seconds_;
}

bool GpuPolicy::is_affordable() const { return seconds_before(predicted_seconds(translator_->words())) <= 0; }

bool GpuPolicy::may_translate() const { return !failed_ && seconds_ + link_seconds_ < settings_.budget_seconds; }

bool GpuPolicy::is_over() const { return !may_translate() || round_ >= settings_.rounds.most; }

GpuLaunch GpuPolicy::next(std::chrono::milliseconds limit) const {
  const u32 slice = loaded_ ? kRegionSlice : settings_.interpreter_slice;
  const auto at_least = [](GpuLaunch& launch, double seconds) {
    launch.time = std::max(launch.time, std::chrono::milliseconds(static_cast<i64>(1000 * seconds)));
  };
  GpuLaunch launch = settings_.rounds.launch(round_);
  if (pending_.valid() || chosen_) {
    launch = {kShortestLaunch, slice, false};
    if (chosen_) at_least(launch, seconds_before(predicted_seconds(translator_->words())));
  } else if (is_over()) {
    return {limit, slice, false};
  } else if (settings_.rounds.waits) {
    const u64 words = std::max(code_.words, compiled_here_) + static_cast<u64>(kExpectedWords);
    at_least(launch, seconds_ + link_seconds_ - seconds_for_others_);
    at_least(launch, seconds_before(predicted_seconds(words)));
    if (launch.time > 2 * settings_.rounds.first) launch.slice = settings_.rounds.slice;
  }
  if (limit.count() != 0) launch.time = std::min(launch.time, limit);
  return launch;
}

DeviceError GpuPolicy::paused(const std::atomic<bool>* cancel) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  run_seconds_ += std::chrono::duration<double>(now() - resumed_).count();
  if (auto error = settle(cancel)) return error;
  if (!pending_.valid() && may_translate() && (chosen_ || !is_over())) {
    if (!chosen_) {
      if (auto error = read_samples()) return error;
    }
    if (chosen_ && is_affordable()) {
      if (auto error = translate_chosen(cancel)) return error;
    }
  }
  resumed_ = now();
  return {};
}

bool GpuPolicy::is_ready(const std::atomic<bool>* cancel) {
  using namespace std::chrono_literals;
  if (settings_.overlaps) return pending_.wait_for(0ms) == std::future_status::ready;
  while (pending_.wait_for(1ms) == std::future_status::timeout) {
    if (is_set(cancel)) return false;
  }
  return true;
}

DeviceError GpuPolicy::settle(const std::atomic<bool>* cancel) {
  if (!pending_.valid() || is_set(cancel) || !is_ready(cancel)) return {};
  return adopt(pending_.get()) ? install() : std::nullopt;
}

DeviceError GpuPolicy::install() {
  std::vector<InstalledRegion> regions;
  for (const auto& entry : code_.entries) {
    if (entry.code >= program_.codes.size()) continue;
    const auto& code = program_.codes[entry.code];
    const u64 index = (entry.pc - code.start) / sizeof(u32);
    if (entry.pc < code.start || index >= code.words.size() || entry.word != code.first_word + index) continue;
    regions.push_back({entry.region, code.start, static_cast<u32>(code.words.size()), entry.word, entry.from,
                       entry.until, entry.entry_point, entry.most});
  }
  return device_->install(loaded_, regions);
}

void GpuPolicy::find_loops(std::span<const u32> samples) {
  if (!find_loops_) return;
  loops_ = find_loops_(program_.codes, samples);
  if (translator_) translator_->leave_loops(loops_);
}

// The translator resumes from the samples and regions of earlier rounds.
void GpuPolicy::prepare_translator() {
  if (translator_) return;
  limits_.fewest = settings_.rounds.fewest;
  // Lanes that share a warp run the interpreter together, which costs each of them less.
  if (!device_->kind().alone) limits_.side_exits = 64;
  translator_ = GpuTranslator::create(limits_);
  translator_->leave_loops(loops_);
  samples_.assign(sample_count_, 0);
  for (const auto& sampled : code_.samples) {
    if (sampled.word < samples_.size()) samples_[sampled.word] = sampled.count;
  }
  if (!code_.entries.empty())
    translator_->resume(program_.codes, samples_, code_.entries, code_.ranges, code_.default_fp_mode != 0);
}

DeviceError GpuPolicy::expect(std::span<const u32> words, const std::atomic<bool>* cancel) {
  if (auto error = settle(cancel)) return error;
  if (!may_translate() || pending_.valid()) return {};
  expected_.resize(sample_count_ / interpreter::kSampleKinds);
  std::vector<u32> samples(sample_count_);
  bool is_new = false;
  for (const u32 word : words) {
    if (word >= expected_.size() || expected_[word]) continue;
    expected_[word] = is_new = true;
    samples[word] = settings_.rounds.fewest;
  }
  if (!is_new) return {};
  constexpr u32 kAll = 1u << 20;
  if (!translator_) limits_.regions = limits_.regions_a_round = limits_.smallest_share = kAll;
  prepare_translator();
  if (!translator_->choose(program_.codes, samples, 0, false)) return {};
  if (auto error = translate_chosen(cancel)) return error;
  // Linking so many regions with a few more takes too long.
  if (regions_of(code_.entries) > GpuLimits().regions) round_ = settings_.rounds.most;
  return {};
}

// Ends a round: adds the samples and chooses regions.
DeviceError GpuPolicy::read_samples() {
  std::vector<u32> samples;
  if (auto error = device_->samples(samples)) return error;
  bool default_fp_mode = false;
  if (auto error = device_->default_fp_mode(default_fp_mode)) return error;
  prepare_translator();
  samples_.resize(samples.size());
  const std::size_t counts = samples.size() / interpreter::kSampleKinds * interpreter::kSampleCounts;
  for (std::size_t i = 0; i < counts; ++i) samples_[i] = saturating_sum(samples_[i], samples[i]);
  code_.default_fp_mode = default_fp_mode;
  const u32 slice = next({}).slice;
  ++round_;
  find_loops(samples);
  chosen_ = translator_->choose(program_.codes, samples, slice, default_fp_mode);
  if (!chosen_ && loaded_) save();  // the next run need not repeat the round
  return {};
}

DeviceError GpuPolicy::translate_chosen(const std::atomic<bool>* cancel) {
  chosen_ = false;
  const auto work = [translator = translator_, device = device_] { return compile(*translator, *device); };
  if (settings_.abandons) {
    std::packaged_task<Compiled()> task(work);
    pending_ = task.get_future();
    std::thread(std::move(task)).detach();
  } else {
    pending_ = std::async(std::launch::async, work);  // its destructor waits
  }
  return settle(cancel);
}

GpuPolicy::Compiled GpuPolicy::compile(GpuTranslator& translator, GpuDevice& device) {
  Compiled compiled;
  compiled.translation = timed(compiled.seconds, [&] { return translator.translate(device.kind()); });
  const GpuTranslation& translation = compiled.translation;
  if (translation.ptx.empty()) {
    compiled.error = translation.error;
    return compiled;
  }
  dump_text(translation.ptx);
  compiled.error = timed(compiled.link_seconds, [&] { return device.link(translation.ptx, compiled.image); });
  return compiled;
}

// False if the lanes keep the code they had.
bool GpuPolicy::adopt(Compiled compiled) {
  GpuTranslation& translation = compiled.translation;
  seconds_ += compiled.seconds;
  link_seconds_ += compiled.link_seconds;
  compiled_words_ += static_cast<double>(translation.words - std::min(translation.words, compiled_here_));
  compiled_here_ = translation.words;
  ++links_;
  DeviceError error = std::move(compiled.error);
  if (!error) error = timed(link_seconds_, [&] { return device_->load(compiled.image, loaded_); });
  if (error) {
    fail(*error);
    return false;
  }
  code_.entries = std::move(translation.entries);
  code_.ranges = std::move(translation.ranges);
  code_.words = translation.words;
  code_.image = std::move(compiled.image);
  cached_ = 0;
  save();
  return true;
}

void GpuPolicy::fail(const std::string& why) {
  failed_ = true;
  if (!loaded_) code_ = {};
  if (settings_.notice) settings_.notice("no more is translated: " + why);
}

// A thread writes the file, because lanes wait for this one.
void GpuPolicy::save() {
  if (settings_.folder.path().empty()) return;
  const auto code = std::make_shared<StoredGpuCode>(code_);
  code->rounds = round_;
  code->samples.clear();
  for (u32 i = 0; i < samples_.size(); ++i) {
    if (samples_[i] != 0) code->samples.push_back({i, samples_[i]});
  }
  const auto write = [folder = settings_.folder, key = key_, code] { (void)GpuStore(folder, key).store(*code); };
  if (saving_.valid()) saving_.wait();
  try {
    saving_ = std::async(std::launch::async, write);
  } catch (const std::system_error&) {
    write();  // the system has no thread for it
  }
}

GpuPolicy::Counts GpuPolicy::counts() const {
  return {regions_of(code_.entries), cached_, code_.words, seconds_ + link_seconds_, link_seconds_};
}

}  // namespace kvrm::translator
