// Host threads that share work items. A pool lives as long as its device, so that a short run creates no threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/types.h"

namespace kvrm::backend::cpu {

class ThreadPool {
 public:
  // At most this many items run at a time, one of them on the calling thread. Threads start when first needed.
  explicit ThreadPool(unsigned threads) : threads_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(i) once for every i below count, starting them in rising order, and returns when all are done. The work
  // must not throw. One call at a time.
  void each(u64 count, const std::function<void(u64)>& work);

  unsigned threads() const { return threads_; }

 private:
  void serve();
  void drain(const std::function<void(u64)>& work);

  const unsigned threads_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  // Under the mutex:
  u64 round_ = 0;
  unsigned busy_ = 0;
  bool closing_ = false;
  const std::function<void(u64)>* work_ = nullptr;
  u64 count_ = 0;
  // The next item, for all threads of a round.
  std::atomic<u64> next_ = 0;
};

}  // namespace kvrm::backend::cpu
