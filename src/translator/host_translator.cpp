#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "translator/bitcode.h"
#include "translator/host_compiler.h"
#include "translator/region_store.h"
#include "translator/translator.h"

namespace kvrm::translator {
namespace {

struct Request {
  Plan plan;
  Source source;
  u32 urgency;
  u64 program;
};

class HostTranslator final : public Translator {
 public:
  explicit HostTranslator(const Settings& settings)
      : Translator(settings), store_(settings.folder, store_key(settings)) {}

  ~HostTranslator() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
    store_.save();
  }

  WarmPlaces open(u64 program) override {
    const std::lock_guard lock(mutex_);
    store_.open(program);
    return store_.warm_places(program);
  }

  void remember(u64 program, const WarmPlaces& places) override {
    const std::lock_guard lock(mutex_);
    store_.remember(program, places);
  }

  RegionPointer find(u64 head, const std::function<bool(const Source&)>& matches) override {
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      const auto found = regions_.find(head);
      if (found != regions_.end()) {
        for (const RegionPointer& region : found->second) {
          if (matches(region->source)) return region;
        }
      }
      const StoredRegion* there = store_.find(head, matches);
      if (!there) return nullptr;
      stored = *there;
    }
    return link(std::move(stored));
  }

  RegionPointer translate(const Plan& plan, u64 program) override {
    Source source = Source::of(plan);
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find(source)) return known;
    }
    return make(plan, std::move(source), program);
  }

  void request(Plan plan, u32 urgency, u64 program) override {
    Source source = Source::of(plan);
    const std::lock_guard lock(mutex_);
    if (spent() || !asked_for_.insert(source.hash).second) return;
    requests_.push_back({std::move(plan), std::move(source), urgency, program});
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
  }

  std::vector<RegionPointer> finished(std::size_t& seen) override {
    if (finished_count_.load(std::memory_order_acquire) == seen) return {};
    const std::lock_guard lock(mutex_);
    std::vector<RegionPointer> fresh(finished_.begin() + static_cast<std::ptrdiff_t>(seen), finished_.end());
    seen = finished_.size();
    return fresh;
  }

  Counts counts() const override {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  bool spent() const { return counts_.seconds > settings().budget_seconds; }

  RegionPointer find(const Source& source) const {
    const auto found = regions_.find(source.head);
    if (found == regions_.end()) return nullptr;
    for (const RegionPointer& region : found->second) {
      if (region->source == source) return region;
    }
    return nullptr;
  }

  RegionPointer make(const Plan& plan, Source source, u64 program) {
    const std::lock_guard one_at_a_time(compiling_);
    const auto begin = std::chrono::steady_clock::now();
    StoredRegion stored;
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find(source)) return known;
      const StoredRegion* there = store_.find(source.head, [&](const Source& stored) { return stored == source; });
      if (there) stored = *there;
      if (spent() && !there) return nullptr;
    }
    if (!start_compiler()) return nullptr;
    if (!stored.object.empty()) return link_stored(stored, begin);
    ObjectFile object = compiler_->compile(plan, source.name());
    std::shared_ptr<const HostCode> code = object.empty() ? nullptr : compiler_->link(object, source.name());
    const std::lock_guard lock(mutex_);
    RegionPointer region = enter(source, std::move(code), plan.words, begin);
    if (region) store_.add(program, {std::move(source), plan.words, std::move(object)});
    return region;
  }

  // A region from the disk.
  RegionPointer link(StoredRegion stored) {
    const std::lock_guard one_at_a_time(compiling_);
    const auto begin = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (RegionPointer known = find(stored.source)) return known;
    }
    if (!start_compiler()) return nullptr;
    return link_stored(stored, begin);
  }

  RegionPointer link_stored(const StoredRegion& stored, std::chrono::steady_clock::time_point begin) {
    std::shared_ptr<const HostCode> code = compiler_->link(stored.object, stored.source.name());
    const std::lock_guard lock(mutex_);
    RegionPointer region = enter(stored.source, std::move(code), stored.words, begin);
    if (region) ++counts_.from_cache;
    return region;
  }

  RegionPointer enter(const Source& source, std::shared_ptr<const HostCode> code, u32 words,
                      std::chrono::steady_clock::time_point begin) {
    counts_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!code) return nullptr;
    ++counts_.regions;
    counts_.words += words;
    const auto region = std::make_shared<const Region>(Region{source, code->handler(), code});
    forget_unused();
    regions_[source.head].push_back(region);
    return region;
  }

  // LLVM takes a few milliseconds to start, which a short program need not pay.
  bool start_compiler() {
    if (compiler_ || failed_) return compiler_ != nullptr;
    std::string error;
    compiler_ = HostCompiler::create(error, {}, settings().common);
    failed_ = !compiler_;
    return compiler_ != nullptr;
  }

  // Code that changes all the time must not fill the memory: regions that no lane holds go when there are very many.
  void forget_unused() {
    constexpr std::size_t kMost = 4096;
    if (++regions_since_look_ < kMost) return;
    regions_since_look_ = 0;
    for (auto at = regions_.begin(); at != regions_.end();) {
      std::erase_if(at->second, [](const RegionPointer& region) { return region.use_count() == 1; });
      at = at->second.empty() ? regions_.erase(at) : std::next(at);
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
      const RegionPointer region = make(next.plan, std::move(next.source), next.program);
      if (!region) continue;
      const std::lock_guard lock(mutex_);
      finished_.push_back(region);
      finished_count_.store(finished_.size(), std::memory_order_release);
    }
  }

  static std::string store_key(const Settings& settings) {
    const PlanLimits& limits = settings.limits;
    return HostCompiler::target_name() + " rows " + std::string(rows_version()) + " blocks " +
           std::to_string(limits.blocks) + " words " + std::to_string(limits.words) + " calls " +
           std::to_string(limits.calls) + " router " + settings.router + (settings.common ? " common" : "");
  }

  std::unique_ptr<HostCompiler> compiler_;
  bool failed_ = false;
  std::mutex compiling_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::unordered_map<u64, std::vector<RegionPointer>> regions_;
  std::size_t regions_since_look_ = 0;
  RegionStore store_;
  std::unordered_set<u64> asked_for_;
  std::vector<Request> requests_;
  std::vector<RegionPointer> finished_;
  std::atomic<std::size_t> finished_count_ = 0;
  Counts counts_;
  std::thread worker_;
};

}  // namespace

std::shared_ptr<Translator> Translator::create(const Settings& settings, std::string& error) {
  if (!HostCompiler::can_work(error)) return nullptr;
  return std::make_shared<HostTranslator>(settings);
}

}  // namespace kvrm::translator
