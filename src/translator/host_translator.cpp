#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "translator/bitcode.h"
#include "translator/feed.h"
#include "translator/host_compiler.h"
#include "translator/region_store.h"
#include "translator/thread_clock.h"
#include "translator/translator.h"

namespace kvrm::translator {
namespace {

// Compiling may take this share of the time that lanes have run, so that it costs little where it gains nothing. A
// program that has been run a few times is translated as far as that pays.
constexpr double kShareOfRun = 0.2, kLaterShareOfRun = 0.03;
constexpr u32 kEarlyRuns = 3;
// What a word is taken to cost before any has been compiled, and how many words' time that weighs.
constexpr double kUsualSecondsAWord = 1e-3;
constexpr double kUsualWords = 40;
// What a region costs beside its object file: pages of its own, the linker's notes.
constexpr u64 kRegionBytes = u64{16} << 10;
// Bounds on what is known of code without regions; a guest can make up any number of it.
constexpr std::size_t kMostRequests = 1024, kMostAskedFor = std::size_t{1} << 16;
constexpr std::size_t kMostDistinctWords = std::size_t{1} << 20;

// Which entries have regions, as a set that may name too many: whoever decodes a word asks it first, without a lock.
class LikelyHeads {
 public:
  void insert(u64 head) {
    const auto [word, bit] = at(head);
    bits_[word].fetch_or(bit, std::memory_order_release);
  }
  bool contains(u64 head) const {
    const auto [word, bit] = at(head);
    return (bits_[word].load(std::memory_order_acquire) & bit) != 0;
  }

 private:
  static constexpr u64 kWords = 1024;
  static std::pair<u64, u64> at(u64 head) {
    const u64 hash = head / 4 * 0x9e3779b97f4a7c15 >> 48;
    return {hash / 64 % kWords, u64{1} << hash % 64};
  }
  std::array<std::atomic<u64>, kWords> bits_{};
};

struct Request {
  Plan plan;
  Source source;
  double urgency;
  u64 program;
};

class HostTranslator final : public Translator, public std::enable_shared_from_this<HostTranslator> {
 public:
  explicit HostTranslator(const Settings& settings)
      : Translator(settings), store_(settings.folder, store_key(settings), settings.most_bytes) {}

  // Nobody will ask for anything any more. LLVM's globals must outlive a compiler that is at work.
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
    store_.open(program, [&](const Source& source) {
      stored_heads_.insert(source.head);
      shared->profile.settle(source.head, source.addresses());
    });
    return shared;
  }

  void leave_cache() override {
    const std::lock_guard lock(mutex_);
    store_.close();
  }

  RegionPointer find(u64 head, const Matches& matches) override {
    if (!heads_.contains(head)) return nullptr;
    const std::lock_guard lock(mutex_);
    return find_linked(head, matches);
  }

  RegionPointer find_stored(u64 head, const Matches& matches) override {
    if (!stored_heads_.contains(head)) return nullptr;
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find_linked(head, matches)) return known;
      const StoredRegion* there = store_.find(head, matches);
      if (!there) return nullptr;
      stored = *there;
    }
    return start_compiler() ? link_stored(stored) : nullptr;
  }

  RegionPointer translate(const Plan& plan, u64 program) override {
    Source source = Source::of(plan);
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find(source)) return known;
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
    const std::lock_guard lock(runs_mutex_);
    runs_.seconds += run.seconds;
    runs_.interpreter_seconds += run.interpreter_seconds;
    runs_.interpreted += run.interpreted;
    runs_.translated += run.translated;
  }

  double seconds_a_word() const override {
    const std::lock_guard lock(mutex_);
    return cost_of_word();
  }

  // What the first runs of a program did not need is left to the next.
  double seconds_left(const SharedProfile& program) const override {
    const std::lock_guard lock(mutex_);
    const double used = program.compile_seconds + waiting_words_ * cost_of_word();
    const Profile::Past& past = program.profile.past();
    if (past.runs >= kEarlyRuns) return kLaterShareOfRun * program.run_seconds - used;
    return kShareOfRun * (past.run_seconds + program.run_seconds) - past.compile_seconds - used;
  }

  Counts counts() const override {
    const std::lock_guard lock(mutex_);
    const std::lock_guard runs_lock(runs_mutex_);
    Counts counts = counts_;
    counts.distinct_words = distinct_words_.size();
    counts.bytes = bytes_;
    counts.interpreted = runs_.interpreted;
    counts.translated = runs_.translated;
    counts.interpreter_seconds = runs_.interpreter_seconds;
    counts.region_seconds = std::max(0.0, runs_.seconds - runs_.interpreter_seconds);
    return counts;
  }

 private:
  void save(u64 program, SharedProfile& shared) const {
    const std::lock_guard lock(shared.mutex);
    if (!shared.profile.changed()) return;
    shared.profile.end_run(shared.run_seconds, shared.compile_seconds);
    store_.store_profile(program, shared.profile);
  }

  bool spent() const { return counts_.seconds > settings().budget_seconds; }

  double cost_of_word() const {
    return (compile_seconds_ + kUsualSecondsAWord * kUsualWords) / (compiled_words_ + kUsualWords);
  }

  RegionPointer find_linked(u64 head, const Matches& matches) const {
    const auto found = regions_.find(head);
    if (found == regions_.end()) return nullptr;
    for (const Known& known : found->second) {
      if (!matches(known.region->source)) continue;
      known.asked_for = ++time_;
      return known.region;
    }
    return nullptr;
  }
  RegionPointer find(const Source& source) const {
    return find_linked(source.head, [&](const Source& known) { return known == source; });
  }

  RegionPointer make(const Plan& plan, Source source, u64 program) {
    const std::lock_guard one_at_a_time(compiling_);
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find(source)) return known;
      const StoredRegion* there = store_.find(source.head, [&](const Source& known) { return known == source; });
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
      if (RegionPointer known = find(stored.source)) return known;
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
    regions_[source.head].push_back({region, bytes, ++time_});
    heads_.insert(source.head);
    return region;
  }

  // LLVM takes a few milliseconds to start, which a short program need not pay.
  bool start_compiler() {
    std::call_once(started_, [this] {
      std::string error;
      compiler_ = HostCompiler::create(error, {}, settings().common);
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

  // Of the regions that no lane holds those go that were asked for longest ago, until the rest takes so many bytes.
  void forget(u64 bytes) {
    std::vector<const Known*> unused;
    for (const auto& [head, list] : regions_) {
      for (const Known& known : list) {
        if (known.region.use_count() == 1) unused.push_back(&known);
      }
    }
    std::ranges::sort(unused, {}, [](const Known* known) { return known->asked_for; });
    std::unordered_set<const Region*> going;
    for (const Known* known : unused) {
      if (bytes_ <= bytes) break;
      bytes_ -= known->bytes;
      asked_for_.erase(known->region->source.hash);
      going.insert(known->region.get());
    }
    for (auto at = regions_.begin(); at != regions_.end();) {
      std::erase_if(at->second, [&](const Known& known) { return going.contains(known.region.get()); });
      if (!at->second.empty()) {
        ++at;
        continue;
      }
      forgotten_.tell(at->first);  // there is no newer one
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
      (void)make(next.plan, std::move(next.source), next.program);
      const std::lock_guard lock(mutex_);
      waiting_words_ -= next.plan.words;
    }
  }

  static std::string store_key(const Settings& settings) {
    const PlanLimits& limits = settings.limits;
    return HostCompiler::target_name() + " rows " + std::string(rows_version()) + " blocks " +
           std::to_string(limits.blocks) + " words " + std::to_string(limits.words) + " calls " +
           std::to_string(limits.calls) + " router " + settings.router + (settings.common ? " common" : "");
  }

  std::unique_ptr<HostCompiler> compiler_;
  std::once_flag started_;
  std::mutex compiling_, linking_;  // in this order, and before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  struct Known {
    RegionPointer region;
    u64 bytes;
    mutable u64 asked_for;  // when, in calls
  };
  std::unordered_map<u64, std::vector<Known>> regions_;  // by head
  u64 bytes_ = 0;  // of them
  mutable u64 time_ = 0;
  std::atomic<u64> pressure_ = 0;
  LikelyHeads heads_, stored_heads_;
  RegionStore store_;
  std::unordered_map<u64, std::shared_ptr<SharedProfile>> profiles_;
  std::unordered_set<u64> asked_for_;
  std::vector<Request> requests_;
  double waiting_words_ = 0;  // in requests that are not finished
  Feed<std::weak_ptr<const Region>> finished_;
  Feed<u64> forgotten_;
  Counts counts_;
  std::unordered_set<u64> distinct_words_;
  double compile_seconds_ = 0, compiled_words_ = 0;
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
