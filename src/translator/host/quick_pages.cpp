#include "translator/host/quick_pages.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "translator/host/perf_map.h"
#include "translator/host/thread_clock.h"

namespace kvrm::translator {

void QuickFaults::insert(const QuickPage& page) {
  for (const u8* block : page.code().blocks()) pages_.insert(block, &page);
}

void QuickFaults::erase(const QuickPage& page) {
  for (const u8* block : page.code().blocks()) pages_.erase(block);
}

const void* QuickFaults::find(const void* owner, const void* pc) {
  const u64 block = reinterpret_cast<u64>(pc) & ~(CodeMemory::kBlockBytes - 1);
  const void* page = static_cast<const QuickFaults*>(owner)->pages_.find(reinterpret_cast<const void*>(block));
  return page ? static_cast<const QuickPage*>(page)->landing(pc) : nullptr;
}

const void* QuickPage::landing(const void* pc) const {
  const u64 offset = reinterpret_cast<u64>(pc) - reinterpret_cast<u64>(code_->begin());
  const auto found = std::ranges::lower_bound(accesses_, offset, {}, &stencils::PageCode::Access::offset);
  return found == accesses_.end() || found->offset != offset ? nullptr : code_->begin() + found->landing;
}

QuickPage::~QuickPage() {
  if (faults_ && code_) faults_->erase(*this);
  if (live_) live_->fetch_sub(bytes_, std::memory_order_relaxed);
}

namespace {

void list_words(u64 address, const stencils::PageCode& code, const u8* begin) {
  std::map<u32, u32> words;  // by where their code is
  for (u32 i = 0; i < interpreter::kWordsPerPage; ++i) {
    if (code.words[i] != stencils::kNoCode) words.emplace(code.words[i], i);
  }
  for (auto word = words.begin(); word != words.end(); ++word) {
    const auto next = std::next(word);
    const u32 end = next == words.end() ? code.words_end : next->first;
    char name[32];
    std::snprintf(name, sizeof(name), "quick_%llx", address + u64{word->second} * 4);
    list_for_perf(begin + word->first, end - word->first, name);
  }
}

}  // namespace

QuickPagePointer QuickPage::make(u64 address, const Words& words, std::shared_ptr<QuickFaults> faults,
                                 const LiveBytes& live, bool lists_for_perf) {
  stencils::PageCode code = stencils::translate_page(address, words, faults != nullptr);
  std::shared_ptr<QuickPage> page(new QuickPage);
  page->address_ = address;
  page->words_ = words;
  page->entry_points_ = code.entry_points;
  page->accesses_ = std::move(code.accesses);
  page->code_ = CodeMemory::make(code.bytes);
  page->faults_ = std::move(faults);
  if (!page->code_) return nullptr;
  if (page->faults_) page->faults_->insert(*page);
  if (lists_for_perf) list_words(address, code, page->code_->begin());
  page->bytes_ = sizeof(QuickPage) + page->code_->size() + page->accesses_.capacity() * sizeof(page->accesses_[0]);
  page->live_ = live;
  live->fetch_add(page->bytes_, std::memory_order_relaxed);
  return page;
}

interpreter::Handler QuickPage::handler(u32 index) const {
  const u32 at = entry_points_[index];
  return at == stencils::kNoCode ? nullptr
                                 : reinterpret_cast<interpreter::Handler>(reinterpret_cast<u64>(code_->begin()) + at);
}

QuickPagePointer QuickPages::find(u64 address, const QuickPage::Words& words, bool uses_window) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(address);
  if (found == pages_.end()) return nullptr;
  for (const QuickPagePointer& page : found->second)
    if (page->uses_window() == uses_window && page->words() == words) return page;
  return nullptr;
}

QuickPagePointer QuickPages::make(u64 address, const QuickPage::Words& words, bool uses_window) {
  if (QuickPagePointer page = find(address, words, uses_window)) return page;
  if (live_->load(std::memory_order_relaxed) > most_bytes_) {
    // Those that no lane uses go.
    const std::lock_guard lock(mutex_);
    pages_.clear();
  }
  if (live_->load(std::memory_order_relaxed) > most_bytes_) return nullptr;
  const double begin = thread_seconds();
  QuickPagePointer page = QuickPage::make(address, words, uses_window ? faults_ : nullptr, live_, lists_for_perf_);
  const double seconds = thread_seconds() - begin;
  if (!page) return nullptr;
  const std::lock_guard lock(mutex_);
  pages_[address].push_back(page);
  seen_[slot(address)].fetch_or(bit(address), std::memory_order_release);
  ++counts_.pages;
  counts_.seconds += seconds;
  seconds_a_page_ = 0.75 * seconds_a_page_ + 0.25 * seconds;
  return page;
}

QuickPages::Counts QuickPages::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kvrm::translator
