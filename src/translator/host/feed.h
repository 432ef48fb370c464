// A queue with many readers, each of which keeps its own position. A reader that is too slow misses the oldest values.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

namespace kvrm::translator {

template <class T>
class Feed {
 public:
  // One thread at a time for these two.
  void tell(T value) {
    if (latest_.size() == kMost) latest_.pop_front();
    latest_.push_back(std::move(value));
    count_.fetch_add(1, std::memory_order_release);
  }
  std::vector<T> since(std::size_t& heard) const {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    const std::size_t fresh = std::min(count - heard, latest_.size());
    heard = count;
    return {latest_.end() - static_cast<std::ptrdiff_t>(fresh), latest_.end()};
  }
  // Any thread.
  bool has_news(std::size_t heard) const { return count_.load(std::memory_order_acquire) != heard; }

 private:
  static constexpr std::size_t kMost = 4096;
  std::deque<T> latest_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace kvrm::translator
