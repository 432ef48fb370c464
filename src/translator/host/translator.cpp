#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "translator/bitcode.h"
#include "translator/host/compiler.h"
#include "translator/host/feed.h"
#include "translator/host/quick_pages.h"
#include "translator/host/region_store.h"
#include "translator/host/thread_clock.h"
#include "translator/stencils/table.h"
#include "translator/translator.h"

namespace kvrm::translator {
namespace {

// Compiling may take this share of the lanes' run time, so that it costs little where it gains nothing; more where the
// compiler's thread has a processor that no lane wants. A program that has run a few times is translated as far as that
// pays.
constexpr double kShareOfRun = 0.2, kShareWithIdleProcessor = 0.5, kLaterShareOfRun = 0.03;
// What a later run leaves to the next one, at most.
constexpr double kMostSecondsLeft = 1;
// The compiler's thread has such a processor if it ran for so much of the time it took.
constexpr double kHardlyWaits = 0.9;
// What an instruction takes less time in quick code than in the interpreter, on any host.
constexpr double kSavedByQuickCode = 2e-9;
// The expected cost of a word before any was compiled, and the weight of that expectation in words.
constexpr double kUsualSecondsAWord = 1e-3;
constexpr double kUsualWords = 40;
// Bytes of a region beside its object file: its pages and the linker's bookkeeping.
constexpr u64 kRegionBytes = u64{16} << 10;
// Bounds on the records of code without regions: a guest can make up any amount of it.
constexpr std::size_t kMostRequests = 1024, kMostAskedFor = std::size_t{1} << 16;
constexpr std::size_t kMostDistinctWords = std::size_t{1} << 20;

// A Bloom filter of entries with regions: decoding a word asks it first, without a lock.
class LikelyEntries {
 public:
  void insert(u64 entry_pc) {
    const auto [word, bit] = at(entry_pc);
    bits_[word].fetch_or(bit, std::memory_order_release);
  }
  bool contains(u64 entry_pc) const {
    const auto [word, bit] = at(entry_pc);
    return (bits_[word].load(std::memory_order_acquire) & bit) != 0;
  }

 private:
  static constexpr u64 kWords = 1024;
  static std::pair<u64, u64> at(u64 entry_pc) {
    const u64 hash = entry_pc / 4 * 0x9e3779b97f4a7c15 >> 48;
    return {hash / 64 % kWords, u64{1} << hash % 64};
  }
  std::array<std::atomic<u64>, kWords> bits_{};
};

// The quick tier decodes whole pages by the table, and knows private memory only.
std::shared_ptr<QuickPages> make_quick_pages(const Settings& settings) {
  const bool is_wanted =
      settings.tiers != Tiers::kRegions && !(settings.everything() && settings.tiers != Tiers::kQuick);
  if (!is_wanted || settings.shares_memory || !settings.routes_by_table || !stencils::are_available()) return nullptr;
  return std::make_shared<QuickPages>(settings.most_bytes, settings.perf_map);
}

struct Request {
  Plan plan;
  Source source;
  double urgency;
  u64 program;
};

class HostTranslator final : public Translator, public std::enable_shared_from_this<HostTranslator> {
 public:
  explicit HostTranslator(const Settings& settings)
      : Translator(settings, make_quick_pages(settings)),
        store_(settings.folder, store_key(settings), settings.most_bytes) {}

  // No request can follow. LLVM's globals must outlive a compiler that is at work.
  void close() {
    std::unordered_map<u64, std::shared_ptr<SharedProfile>> profiles;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
      store_.save();
      profiles = profiles_;
    }
    for (const auto& [program, shared] : profiles) save(program, *shared);
    if (!worker_.joinable()) return;
    if (settings().abandons) {
      worker_.detach();
    } else {
      worker_.join();
    }
  }

  std::shared_ptr<SharedProfile> open(u64 program) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<SharedProfile>& shared = profiles_[program];
    if (shared) return shared;
    shared = std::make_shared<SharedProfile>();
    if (settings().everything()) return shared;
    shared->profile = store_.read_profile(program);
    if (quick_pages()) {
      const double least = quick_pages()->seconds_a_page() / kSavedByQuickCode;
      shared->busy_pages = std::make_shared<std::unordered_set<u64>>(shared->profile.busy_pages(least));
    }
    store_.open(program, [&](const Source& source) {
      stored_entries_.insert(source.entry_pc);
      shared->profile.settle(source.entry_pc, source.addresses());
    });
    return shared;
  }

  void leave_cache() override {
    const std::lock_guard lock(mutex_);
    store_.close();
  }

  RegionPointer find(u64 entry_pc, const Matches& matches) override {
    if (!entries_.contains(entry_pc)) return nullptr;
    const std::lock_guard lock(mutex_);
    return find_linked(entry_pc, matches);
  }

  RegionPointer find_stored(u64 entry_pc, const Matches& matches) override {
    if (!stored_entries_.contains(entry_pc)) return nullptr;
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer linked = find_linked(entry_pc, matches)) return linked;
      const StoredRegion* there = store_.find(entry_pc, matches);
      if (!there) return nullptr;
      stored = *there;
    }
    return start_compiler() ? link_stored(stored) : nullptr;
  }

  RegionPointer translate(const Plan& plan, u64 program) override {
    Source source = Source::of(plan);
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer linked = find(source)) return linked;
    }
    return make(plan, std::move(source), program);
  }

  void request(Plan plan, double urgency, u64 program) override {
    Source source = Source::of(plan);
    const std::lock_guard lock(mutex_);
    if (asked_for_.size() >= kMostAskedFor) asked_for_.clear();
    if (spent() || requests_.size() >= kMostRequests || !asked_for_.insert(source.hash).second) return;
    waiting_words_ += plan.words;
    requests_.push_back({std::move(plan), std::move(source), urgency, program});
    if (!worker_.joinable()) worker_ = std::thread([self = shared_from_this()] { self->work(); });
    changed_.notify_all();
  }

  std::vector<RegionPointer> finished(std::size_t& seen) override {
    if (!finished_.has_news(seen)) return {};
    const std::lock_guard lock(mutex_);
    std::vector<RegionPointer> fresh;
    for (const auto& region : finished_.since(seen)) {
      if (RegionPointer there = region.lock()) fresh.push_back(std::move(there));
    }
    return fresh;
  }

  std::vector<u64> forgotten(std::size_t& seen) override {
    if (!forgotten_.has_news(seen)) return {};
    const std::lock_guard lock(mutex_);
    return forgotten_.since(seen);
  }

  u64 pressure() const override { return pressure_.load(std::memory_order_relaxed); }

  void ran(SharedProfile& program, const Run& run) override {
    program.run_seconds += run.seconds;
    program.instructions += run.interpreted + run.quick + run.translated;
    const std::lock_guard lock(runs_mutex_);
    runs_.seconds += run.seconds;
    runs_.interpreter_seconds += run.interpreter_seconds;
    runs_.quick_seconds += run.quick_seconds;
    runs_.interpreted += run.interpreted;
    runs_.quick += run.quick;
    runs_.translated += run.translated;
  }

  double seconds_a_word() const override {
    const std::lock_guard lock(mutex_);
    return cost_of_word();
  }

  // What the first runs of a program did not need is left to later ones.
  double seconds_left(const SharedProfile& program) const override {
    const std::lock_guard lock(mutex_);
    return seconds_left_after(program, program.compile_seconds + waiting_words_ * cost_of_word());
  }

  Counts counts() const override {
    const std::lock_guard lock(mutex_);
    const std::lock_guard runs_lock(runs_mutex_);
    Counts counts = counts_;
    counts.distinct_words = distinct_words_.size();
    counts.bytes = bytes_;
    counts.interpreted = runs_.interpreted;
    counts.quick = runs_.quick;
    counts.quick_seconds = runs_.quick_seconds;
    counts.translated = runs_.translated;
    counts.interpreter_seconds = runs_.interpreter_seconds;
    if (quick_pages()) {
      const QuickPages::Counts quick = quick_pages()->counts();
      counts.quick_pages = quick.pages;
      counts.quick_translation_seconds = quick.seconds;
    }
    counts.region_seconds = std::max(0.0, runs_.seconds - runs_.interpreter_seconds - runs_.quick_seconds);
    return counts;
  }

 private:
  void save(u64 program, SharedProfile& shared) const {
    const std::lock_guard lock(shared.mutex);
    if (!shared.profile.changed()) return;
    double left = 0;
    if (shared.profile.past().runs >= Profile::kEarlyRuns) {
      const std::lock_guard own_lock(mutex_);
      left = std::clamp(seconds_left_after(shared, shared.compile_seconds), 0.0, kMostSecondsLeft);
    }
    shared.profile.end_run(shared.run_seconds, shared.compile_seconds, left);
    store_.store_profile(program, shared.profile);
  }

  bool spent() const { return counts_.seconds > settings().budget_seconds; }

  // A later run may go through code that no run before it had: another command of the same file, another script.
  double seconds_left_after(const SharedProfile& program, double used) const {
    const Profile::Past& past = program.profile.past();
    if (past.runs < Profile::kEarlyRuns)
      return share_of_run() * (past.run_seconds + program.run_seconds) - past.compile_seconds - used;
    const double executions = static_cast<double>(program.profile.executions_of_new_code());
    const double share_of_new_code = std::min(1.0, executions / std::max(1.0, program.instructions.load()));
    const double share = kLaterShareOfRun + share_of_run() * share_of_new_code;
    return past.compile_seconds_left + share * program.run_seconds - used;
  }

  double share_of_run() const {
    const bool has_processor = settings().in_background && worker_seconds_ >= kHardlyWaits * worker_wall_seconds_;
    return has_processor ? kShareWithIdleProcessor : kShareOfRun;
  }

  double cost_of_word() const {
    return (compile_seconds_ + kUsualSecondsAWord * kUsualWords) / (compiled_words_ + kUsualWords);
  }

  RegionPointer find_linked(u64 entry_pc, const Matches& matches) const {
    const auto found = regions_.find(entry_pc);
    if (found == regions_.end()) return nullptr;
    for (const LinkedRegion& linked : found->second) {
      if (!matches(linked.region->source)) continue;
      linked.asked_for = ++time_;
      return linked.region;
    }
    return nullptr;
  }
  RegionPointer find(const Source& source) const {
    return find_linked(source.entry_pc, [&](const Source& linked) { return linked == source; });
  }

  RegionPointer make(const Plan& plan, Source source, u64 program) {
    const std::lock_guard one_at_a_time(compiling_);
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer linked = find(source)) return linked;
      const StoredRegion* there = store_.find(source.entry_pc, [&](const Source& linked) { return linked == source; });
      if (there) stored = *there;
      if (over_ || (spent() && !there)) return nullptr;
      if (!make_space()) {
        asked_for_.erase(source.hash);
        return nullptr;
      }
    }
    if (!start_compiler()) return nullptr;
    if (!stored.object.empty()) return link_stored(stored);
    const double begin = thread_seconds();
    ObjectFile object = compiler_->compile(plan, source.name());
    const double compiled = thread_seconds();
    const std::lock_guard one_link_at_a_time(linking_);
    std::shared_ptr<const HostCode> code = object.empty() ? nullptr : compiler_->link(object, source.name());
    const double linked = thread_seconds();
    const std::lock_guard lock(mutex_);
    compile_seconds_ += linked - begin;
    compiled_words_ += plan.words;
    const auto shared = profiles_.find(program);
    if (shared != profiles_.end()) shared->second->compile_seconds += linked - begin;
    RegionPointer region =
        enter(source, std::move(code), plan.words, object.size(), compiled - begin, linked - compiled);
    if (!region || over_) return region;
    store_.add(program, {std::move(source), plan.words, std::move(object)});
    finished_.tell(region);
    return region;
  }

  // A compiler may be at work meanwhile.
  RegionPointer link_stored(const StoredRegion& stored) {
    const std::lock_guard one_link_at_a_time(linking_);
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer linked = find(stored.source)) return linked;
      if (!make_space()) return nullptr;
    }
    const double begin = thread_seconds();
    std::shared_ptr<const HostCode> code = compiler_->link(stored.object, stored.source.name());
    const double linked = thread_seconds();
    const std::lock_guard lock(mutex_);
    RegionPointer region = enter(stored.source, std::move(code), stored.words, stored.object.size(), 0, linked - begin);
    if (region) ++counts_.from_cache;
    return region;
  }

  RegionPointer enter(const Source& source, std::shared_ptr<const HostCode> code, u32 words, u64 object,
                      double compiling, double linking) {
    counts_.seconds += compiling + linking;
    counts_.link_seconds += linking;
    if (!code) return nullptr;
    ++counts_.regions;
    counts_.words += words;
    for (const u64 address : source.addresses()) {
      if (distinct_words_.size() < kMostDistinctWords) distinct_words_.insert(address);
    }
    const auto region = std::make_shared<const Region>(Region{source, code->handler(), code});
    const u64 bytes = kRegionBytes + object + 8 * words;
    bytes_ += bytes;
    regions_[source.entry_pc].push_back({region, bytes, ++time_});
    entries_.insert(source.entry_pc);
    return region;
  }

  // LLVM takes a few milliseconds to start, which a short program does not pay.
  bool start_compiler() {
    std::call_once(started_, [this] {
      std::string error;
      compiler_ = HostCompiler::create(error, {}, settings().shares_memory);
      if (compiler_ && settings().perf_map) compiler_->write_perf_map();
    });
    return compiler_ != nullptr;
  }

  // Code that changes all the time must not fill the memory. False: there is no room for another region.
  bool make_space() {
    if (bytes_ + kRegionBytes <= settings().most_bytes) return true;
    forget(settings().most_bytes / 4 * 3);
    if (bytes_ + kRegionBytes <= settings().most_bytes) return true;
    pressure_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Frees the least recently used regions that no lane holds, until the rest takes so many bytes.
  void forget(u64 bytes) {
    std::vector<const LinkedRegion*> unused;
    for (const auto& [entry_pc, list] : regions_) {
      for (const LinkedRegion& linked : list) {
        if (linked.region.use_count() == 1) unused.push_back(&linked);
      }
    }
    std::ranges::sort(unused, {}, [](const LinkedRegion* linked) { return linked->asked_for; });
    std::unordered_set<const Region*> going;
    for (const LinkedRegion* linked : unused) {
      if (bytes_ <= bytes) break;
      bytes_ -= linked->bytes;
      asked_for_.erase(linked->region->source.hash);
      going.insert(linked->region.get());
    }
    for (auto at = regions_.begin(); at != regions_.end();) {
      std::erase_if(at->second, [&](const LinkedRegion& linked) { return going.contains(linked.region.get()); });
      if (!at->second.empty()) {
        ++at;
        continue;
      }
      forgotten_.tell(at->first);  // no newer one replaces it
      at = regions_.erase(at);
    }
  }

  void work() {
    for (;;) {
      Request next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return over_ || !requests_.empty(); });
        if (over_) return;
        const auto hottest = std::ranges::max_element(requests_, {}, &Request::urgency);
        next = std::move(*hottest);
        requests_.erase(hottest);
      }
      const auto begin = std::chrono::steady_clock::now();
      const double ran_before = thread_seconds();
      (void)make(next.plan, std::move(next.source), next.program);
      const std::lock_guard lock(mutex_);
      worker_seconds_ += thread_seconds() - ran_before;
      worker_wall_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      waiting_words_ -= next.plan.words;
    }
  }

  static std::string store_key(const Settings& settings) {
    const PlanLimits& limits = settings.limits;
    return HostCompiler::target_name() + " rows " + std::string(rows_version()) + " blocks " +
           std::to_string(limits.blocks) + " words " + std::to_string(limits.words) + " calls " +
           std::to_string(limits.calls) + " router " + settings.router + (settings.shares_memory ? " shared" : "");
  }

  std::unique_ptr<HostCompiler> compiler_;
  std::once_flag started_;
  std::mutex compiling_, linking_;  // in this order, and before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  struct LinkedRegion {
    RegionPointer region;
    u64 bytes;
    mutable u64 asked_for;  // as a count of calls
  };
  std::unordered_map<u64, std::vector<LinkedRegion>> regions_;  // by entry pc
  u64 bytes_ = 0;  // of them
  mutable u64 time_ = 0;
  std::atomic<u64> pressure_ = 0;
  LikelyEntries entries_, stored_entries_;
  RegionStore store_;
  std::unordered_map<u64, std::shared_ptr<SharedProfile>> profiles_;
  std::unordered_set<u64> asked_for_;
  std::vector<Request> requests_;
  double waiting_words_ = 0;  // in unfinished requests
  Feed<std::weak_ptr<const Region>> finished_;
  Feed<u64> forgotten_;
  Counts counts_;
  std::unordered_set<u64> distinct_words_;
  double compile_seconds_ = 0, compiled_words_ = 0;
  double worker_seconds_ = 0, worker_wall_seconds_ = 0;  // of the compiler's thread, while it compiled
  std::thread worker_;
  mutable std::mutex runs_mutex_;
  Run runs_{};
};

}  // namespace

std::shared_ptr<Translator> Translator::create(const Settings& settings, std::string& error) {
  if (!HostCompiler::can_work(error)) return nullptr;
  auto translator = std::make_shared<HostTranslator>(settings);
  HostTranslator* const there = translator.get();
  return {there, [translator](Translator*) mutable {
            translator->close();
            translator.reset();
          }};
}

}  // namespace kvrm::translator
