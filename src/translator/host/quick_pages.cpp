#include "translator/host/quick_pages.h"

#include "translator/host/thread_clock.h"
#include "translator/stencils/table.h"

namespace kvrm::translator {

QuickPagePointer QuickPage::make(u64 address, const Words& words) {
  stencils::PageCode code = stencils::translate_page(address, words);
  std::shared_ptr<QuickPage> page(new QuickPage);
  page->address_ = address;
  page->words_ = words;
  page->entry_points_ = code.entry_points;
  page->code_ = CodeMemory::make(code.bytes);
  return page->code_ ? page : nullptr;
}

interpreter::Handler QuickPage::handler(u32 index) const {
  const u32 at = entry_points_[index];
  return at == stencils::kNoCode ? nullptr
                                 : reinterpret_cast<interpreter::Handler>(reinterpret_cast<u64>(code_->begin()) + at);
}

bool QuickPage::contains(interpreter::Handler handler) const {
  return reinterpret_cast<u64>(handler) - reinterpret_cast<u64>(code_->begin()) < code_->size();
}

QuickPagePointer QuickPages::find(u64 address, const QuickPage::Words& words) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(address);
  if (found == pages_.end()) return nullptr;
  for (const QuickPagePointer& page : found->second)
    if (page->words() == words) return page;
  return nullptr;
}

QuickPagePointer QuickPages::make(u64 address, const QuickPage::Words& words) {
  if (QuickPagePointer page = find(address, words)) return page;
  const double begin = thread_seconds();
  QuickPagePointer page = QuickPage::make(address, words);
  const double seconds = thread_seconds() - begin;
  if (!page) return nullptr;
  const std::lock_guard lock(mutex_);
  // Lanes keep what they use; the rest is made again when it is needed.
  if (bytes_ + page->bytes() > most_bytes_) {
    pages_.clear();
    bytes_ = 0;
  }
  bytes_ += page->bytes();
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
