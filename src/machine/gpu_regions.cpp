#include "machine/gpu_regions.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>

#include "device/cuda/images.h"
#include "neural/sha256.h"
#include "translator/bitcode.h"

namespace kvrm {

using device::cuda::GpuPointer;
using device::cuda::LaneSet;

namespace {

// What is expected of compilers before they have done anything: an H200's driver and 16 cores.
constexpr double kUsualSecondsAWord = 2e-3, kUsualLinkSeconds = 0.2;
constexpr double kUsualWords = 64;
// The share of a program's time that compilers may take.
constexpr double kShareOfTime = 1.0 / 3;
// While compilers work, lanes are interrupted so often to see whether they have ended.
constexpr std::chrono::milliseconds kShortestSlice{20};

// Instructions of a turn when regions run.
constexpr u32 kLongTurn = 1u << 14;

class GpuTarget final : public RegionTarget {
 public:
  GpuTarget(GpuPointer gpu, LaneSet& set)
      : gpu_(std::move(gpu)), set_(set), kind_{.alone = set.alone(), .common = set.common()} {}
  translator::LaneKind kind() const override { return kind_; }
  Result<std::vector<u32>> heat() override { return set_.heat(); }
  Result<bool> usual_float() override { return set_.usual_float(); }
  Result<std::vector<std::byte>> link(const std::string& ptx) override { return gpu_->link(ptx); }
  Result<GpuPointer> load(std::span<const std::byte> image) override { return gpu_->with_image(image); }
  Result<void> take(GpuPointer code, std::span<const LaneSet::Region> regions) override {
    return set_.take_regions(std::move(code), regions);
  }

 private:
  const GpuPointer gpu_;
  LaneSet& set_;  // may be gone while a compiler still works
  const translator::LaneKind kind_;
};

// Runs something and adds to `seconds` what it took.
template <class Work>
auto timed(double& seconds, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

// For somebody who wants to see it: KVRM_GPU_JIT_PTX in the environment names a file.
void keep_text(const std::string& ptx) {
  if (const char* to = std::getenv("KVRM_GPU_JIT_PTX")) std::ofstream(to) << ptx;
}

bool is_set(const std::atomic<bool>* cancel) { return cancel && cancel->load(std::memory_order_relaxed); }

u32 sum(u32 a, u32 b) { return a + std::min(b, std::numeric_limits<u32>::max() - a); }

u64 regions_of(std::span<const translator::GpuHead> heads) {
  u64 count = 0;
  for (const auto& head : heads) count = std::max<u64>(count, u64{head.region} + 1);
  return count;
}

// Why these options leave everything to the interpreter; empty if they do not.
std::string reason_not_to(const Options& options, const Dispatching& dispatching, const device::cuda::Gpu& gpu) {
  const char* told = std::getenv("KVRM_GPU_JIT");
  if (told && std::string_view(told) == "0") return "KVRM_GPU_JIT=0 turns the translator off";
  if (dispatching.every()) return "every instruction is to be routed anew";
  if (dispatching.mode() == dispatch::Mode::kNeural && options.unverified) {
    return "code is not translated as an unverified network says";
  }
  std::string problem;
  if (!translator::GpuTranslator::is_there(problem)) return problem;
  if (!gpu.linkable()) return device::cuda::no_linkable_error(gpu.context->properties().compute()).message;
  return {};
}

std::string key_of(const Dispatching& dispatching, const device::cuda::Gpu& gpu) {
  const translator::GpuLimits limits;
  std::string key = "translator " + std::string(translator::rows_version());
  const auto add = [&](const char* name, u64 number) { key += std::string(" ") + name + " " + std::to_string(number); };
  add("kernel", cache::content_hash(*gpu.linkable()));
  add("registers", device::cuda::kernel_registers());
  add("compute", static_cast<u64>(gpu.context->properties().compute()));
  add("driver", static_cast<u64>(gpu.context->properties().driver_version));
  for (const u32 limit : {limits.blocks, limits.words, limits.calls, limits.regions, limits.regions_a_round,
                          limits.at_a_time, limits.smallest_share}) {
    add("limit", limit);
  }
  add("dispatch", static_cast<u64>(dispatching.mode()));
  return key;
}

}  // namespace

std::unique_ptr<RegionTarget> make_target(GpuPointer gpu, LaneSet& set) {
  return std::make_unique<GpuTarget>(std::move(gpu), set);
}

std::unique_ptr<GpuRegions> GpuRegions::create(const Options& options, const Dispatching& dispatching,
                                               const device::cuda::Gpu& gpu) {
  if (options.engine == Engine::kInterpreter) return nullptr;
  const bool wanted = options.engine == Engine::kJit;
  if (const std::string reason = reason_not_to(options, dispatching, gpu); !reason.empty()) {
    if (wanted && options.device == Device::kCuda && options.notice) options.notice("nothing is translated: " + reason);
    return nullptr;
  }
  Settings settings;
  settings.rounds = wanted ? GpuRounds() : GpuRounds::patient();
  settings.reason =
      wanted ? "the first ones find out what to translate" : "a program that runs longer goes on with translated code";
  if (options.jit_threshold == 0u) {
    settings.rounds = GpuRounds::eager();  // and nothing is kept
  } else {
    if (options.code_cache) settings.folder = cache::Folder::of_user();
    settings.key = key_of(dispatching, gpu);
    settings.share = kShareOfTime;
    settings.overlaps = true;
    if (options.jit_threshold) settings.rounds.fewest = *options.jit_threshold;
  }
  settings.abandons = options.abandon_compilers;
  if (options.jit_budget) settings.budget_seconds = *options.jit_budget;
  if (wanted) settings.notice = options.notice;
  return std::make_unique<GpuRegions>(std::move(settings));
}

// Where lanes were found is worth knowing, even if nothing was made of it yet.
GpuRegions::~GpuRegions() {
  if (round_ != 0 && code_.image.empty() && !failed_) save();
}

std::string GpuRegions::key_now() const {
  // Nobody finds another program with the same key: what is kept is used without a look at the words.
  std::string code;
  for (const auto& part : codes_) {
    code += std::to_string(part.start) + " " + std::to_string(part.entry) + " " +
            neural::sha256(std::as_bytes(part.words)) + " ";
  }
  return settings_.key + " code " + code + " counts " + std::to_string(counts_) +
         (target_->kind().alone ? " alone" : " together") + (target_->kind().common ? " common" : "");
}

Result<void> GpuRegions::begin(std::unique_ptr<RegionTarget> target, std::vector<translator::SharedCode> codes,
                               std::vector<std::shared_ptr<const memory::Image>> images,
                               const std::atomic<bool>* cancel) {
  if (pending_.valid()) {
    if (is_ready(cancel)) {
      (void)adopt(pending_.get());
    } else if (!settings_.overlaps) {
      set_pending_aside();
      key_.clear();
    }
  }
  target_ = std::move(target);
  codes_ = std::move(codes);
  images_ = std::move(images);
  auto counted = target_->heat();  // from now on
  if (!counted) return counted.error();
  counts_ = counted->size();
  std::string key = key_now();
  resumed_ = std::chrono::steady_clock::now();
  if (key == key_) return linked_ ? take() : Result<void>();
  set_pending_aside();
  key_ = std::move(key);
  if (const auto known = others_.extract(key_)) pending_ = std::move(known.mapped());
  translator_.reset();
  linked_.reset();
  heat_.clear();
  expected_.clear();
  limits_ = {};
  code_ = {};
  round_ = 0;
  chosen_ = false;
  made_here_ = 0;
  run_seconds_ = 0;
  cached_ = 0;
  seconds_before_ = seconds_ + link_seconds_;
  if (saving_.valid()) saving_.wait();
  auto stored = translator::GpuStore(settings_.folder, key_).find();
  if (!stored) return {};
  code_ = *std::move(stored);
  round_ = code_.rounds;
  if (!code_.image.empty()) {
    if (auto loaded = timed(link_seconds_, [&] { return target_->load(code_.image); })) {
      linked_ = *std::move(loaded);
      cached_ = regions_of(code_.heads);
      return take();
    }
    code_.image.clear();
    code_.words = 0;
  }
  // None was made, or the driver does not take it. What to translate is known all the same.
  if (!may_translate()) {
    code_ = {};
    round_ = 0;
    return {};
  }
  restart();
  chosen_ = !code_.heads.empty() || translator_->choose(codes_, heat_, code_.usual_float != 0);
  code_.heads.clear();
  return chosen_ && seconds_before(predicted_seconds(translator_->words())) <= 0 ? make(cancel) : Result<void>();
}

// It is taken up when the program comes back.
void GpuRegions::set_pending_aside() {
  constexpr std::size_t kMost = 8;
  if (!pending_.valid()) return;
  if (!key_.empty()) others_[key_] = std::move(pending_);
  pending_ = {};
  const auto is_done = [](const auto& other) {
    return other.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  if (others_.size() > kMost) std::erase_if(others_, is_done);
}

double GpuRegions::predicted_seconds(u64 words) const {
  const double a_word = (seconds_ + kUsualSecondsAWord * kUsualWords) / (made_words_ + kUsualWords);
  const double a_link = (link_seconds_ + kUsualLinkSeconds) / (links_ + 1);
  return a_word * static_cast<double>(words - std::min(words, made_here_)) + a_link;
}

double GpuRegions::seconds_before(double cost) const {
  const double spent = seconds_ + link_seconds_ - seconds_before_;
  return (spent + cost) * (1 - settings_.share) / settings_.share - run_seconds_;
}

bool GpuRegions::may_translate() const { return !failed_ && seconds_ + link_seconds_ < settings_.budget_seconds; }

bool GpuRegions::is_over() const { return !may_translate() || round_ >= settings_.rounds.most; }

LaneSet::Slice GpuRegions::next(std::chrono::milliseconds usual) const {
  const u32 turn = linked_ ? kLongTurn : LaneSet::kTurn;
  const auto at_least = [](LaneSet::Slice& slice, double seconds) {
    slice.time = std::max(slice.time, std::chrono::milliseconds(static_cast<i64>(1000 * seconds)));
  };
  LaneSet::Slice slice = settings_.rounds.slice(round_);
  if (pending_.valid() || chosen_) {
    slice = {kShortestSlice, turn, false};
    if (chosen_) at_least(slice, seconds_before(predicted_seconds(translator_->words())));
  } else if (is_over()) {
    return {usual, turn, false};
  } else if (settings_.rounds.waits) {
    at_least(slice, seconds_ + link_seconds_ - seconds_before_);
    at_least(slice,
             seconds_before(predicted_seconds(std::max(code_.words, made_here_) + static_cast<u64>(kUsualWords))));
    if (slice.time > 2 * settings_.rounds.first) slice.turn = settings_.rounds.turn;
  }
  if (usual.count() != 0) slice.time = std::min(slice.time, usual);
  return slice;
}

Result<LaneSet::Slice> GpuRegions::paused(std::chrono::milliseconds usual, const std::atomic<bool>* cancel) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  run_seconds_ += std::chrono::duration<double>(now() - resumed_).count();
  if (auto done = settle(cancel); !done) return done.error();
  if (!pending_.valid() && may_translate() && (chosen_ || !is_over())) {
    if (auto done = look(cancel); !done) return done.error();
  }
  resumed_ = now();
  return next(usual);
}

bool GpuRegions::is_ready(const std::atomic<bool>* cancel) {
  using namespace std::chrono_literals;
  if (settings_.overlaps) return pending_.wait_for(0ms) == std::future_status::ready;
  while (pending_.wait_for(1ms) == std::future_status::timeout) {
    if (is_set(cancel)) return false;
  }
  return true;
}

Result<void> GpuRegions::settle(const std::atomic<bool>* cancel) {
  if (!pending_.valid() || is_set(cancel) || !is_ready(cancel)) return {};
  return adopt(pending_.get()) ? take() : Result<void>();
}

// The lanes go on with code_.
Result<void> GpuRegions::take() {
  std::vector<LaneSet::Region> regions;
  for (const auto& head : code_.heads) {
    if (head.code >= codes_.size()) continue;
    const auto& code = codes_[head.code];
    const u64 index = (head.address - code.start) / sizeof(u32);
    if (head.address < code.start || index >= code.words.size() || head.entry != code.entry + index) continue;
    regions.push_back({head.region, code.start, static_cast<u32>(code.words.size()), head.entry, head.from, head.until,
                       head.way_in, head.most});
  }
  return target_->take(linked_, regions);
}

// Gives the translator what is known already.
void GpuRegions::restart() {
  if (translator_) return;
  limits_.fewest = settings_.rounds.fewest;
  // Lanes that share a warp run the interpreter together, which costs each of them less.
  if (!target_->kind().alone) limits_.ways_out = 64;
  translator_ = translator::GpuTranslator::create(limits_);
  heat_.assign(counts_, 0);
  for (const auto& place : code_.places) {
    if (place.entry < heat_.size()) heat_[place.entry] = place.heat;
  }
  if (!code_.heads.empty()) translator_->resume(codes_, heat_, code_.heads, code_.stretches, code_.usual_float != 0);
}

Result<void> GpuRegions::expect(std::span<const u32> words, const std::atomic<bool>* cancel) {
  if (auto done = settle(cancel); !done) return done;
  if (!may_translate() || pending_.valid()) return {};
  expected_.resize(counts_ / interpreter::kNotedParts);
  std::vector<u32> heat(counts_);
  bool is_new = false;
  for (const u32 word : words) {
    if (word >= expected_.size() || expected_[word]) continue;
    expected_[word] = is_new = true;
    heat[word] = settings_.rounds.fewest;
  }
  if (!is_new) return {};
  constexpr u32 kAll = 1u << 20;
  if (!translator_) limits_.regions = limits_.regions_a_round = limits_.smallest_share = kAll;
  restart();
  if (!translator_->choose(codes_, heat, false)) return {};
  if (auto made = make(cancel); !made) return made;
  // To join so many with a few more takes too long.
  if (regions_of(code_.heads) > translator::GpuLimits().regions) round_ = settings_.rounds.most;
  return {};
}

// Chooses, unless something is chosen already; and makes that, if it may take the time.
Result<void> GpuRegions::look(const std::atomic<bool>* cancel) {
  const auto make_if_affordable = [&] {
    return seconds_before(predicted_seconds(translator_->words())) <= 0 ? make(cancel) : Result<void>();
  };
  if (chosen_) return make_if_affordable();
  auto heat = target_->heat();
  if (!heat) return heat.error();
  auto usual_float = target_->usual_float();
  if (!usual_float) return usual_float.error();
  restart();
  heat_.resize(heat->size());
  for (std::size_t i = 0; i < heat->size(); ++i) heat_[i] = sum(heat_[i], (*heat)[i]);
  code_.usual_float = *usual_float;
  ++round_;
  chosen_ = translator_->choose(codes_, *heat, *usual_float);
  if (chosen_) return make_if_affordable();
  if (linked_) save();  // that there was nothing new is worth knowing, too
  return {};
}

Result<void> GpuRegions::make(const std::atomic<bool>* cancel) {
  chosen_ = false;
  const auto work = [translator = translator_, target = target_] { return compile(*translator, *target); };
  if (settings_.abandons) {
    std::packaged_task<Made()> task(work);
    pending_ = task.get_future();
    std::thread(std::move(task)).detach();
  } else {
    pending_ = std::async(std::launch::async, work);  // its end waits for it
  }
  return settle(cancel);
}

GpuRegions::Made GpuRegions::compile(translator::GpuTranslator& translator, RegionTarget& target) {
  Made made{{}, Error{}};
  made.translation = timed(made.seconds, [&] { return translator.translate(target.kind()); });
  if (made.translation.ptx.empty()) {
    made.image = Error{made.translation.error};
    return made;
  }
  keep_text(made.translation.ptx);
  made.image = timed(made.link_seconds, [&] { return target.link(made.translation.ptx); });
  return made;
}

// False if there is nothing to go on with.
bool GpuRegions::adopt(Made made) {
  seconds_ += made.seconds;
  link_seconds_ += made.link_seconds;
  made_words_ += static_cast<double>(made.translation.words - std::min(made.translation.words, made_here_));
  made_here_ = made.translation.words;
  ++links_;
  auto linked = made.image ? timed(link_seconds_, [&] { return target_->load(*made.image); }) : made.image.error();
  if (!linked) {
    fail(linked.error().message);
    return false;
  }
  linked_ = *std::move(linked);
  code_.heads = std::move(made.translation.heads);
  code_.stretches = std::move(made.translation.stretches);
  code_.words = made.translation.words;
  code_.image = *std::move(made.image);
  cached_ = 0;
  save();
  return true;
}

void GpuRegions::fail(const std::string& why) {
  failed_ = true;
  if (!linked_) code_ = {};
  if (settings_.notice) settings_.notice("no more is translated: " + why);
}

// Lanes wait for what comes next, and somebody may cancel: the file is written meanwhile.
void GpuRegions::save() {
  if (settings_.folder.path().empty()) return;
  const auto code = std::make_shared<translator::StoredGpuCode>(code_);
  code->rounds = round_;
  code->places.clear();
  for (u32 i = 0; i < heat_.size(); ++i) {
    if (heat_[i] != 0) code->places.push_back({i, heat_[i]});
  }
  const auto write = [folder = settings_.folder, key = key_, code] {
    (void)translator::GpuStore(folder, key).store(*code);
  };
  if (saving_.valid()) saving_.wait();
  try {
    saving_ = std::async(std::launch::async, write);
  } catch (const std::system_error&) {
    write();  // no thread to be had
  }
}

void GpuRegions::add_to(Statistics& statistics) const {
  statistics.regions += regions_of(code_.heads);
  statistics.cached_regions += cached_;
  statistics.region_words += code_.words;
  statistics.translation_seconds += seconds_ + link_seconds_;
  statistics.link_seconds += link_seconds_;
  if (statistics.launches > 1 && statistics.launches_reason.empty()) statistics.launches_reason = settings_.reason;
}

}  // namespace kvrm
