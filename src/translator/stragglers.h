// Threads that compile, and may still do so when what they compile for is gone: nobody waits for them but the end of the
// process, since LLVM's and the driver's globals must outlive them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace kvrm::translator {

class Stragglers {
 public:
  // Runs `work` on a thread of its own. What it holds is destroyed there.
  template <class Work>
  static void start(Work work) {
    Stragglers& all = get();
    all.begin();
    try {
      std::thread([&all, work = std::move(work)]() mutable {
        {
          Work here = std::move(work);
          here();
        }
        all.end();
      }).detach();
    } catch (...) {
      all.end();
      throw;
    }
  }

 private:
  static Stragglers& get() {
    static Stragglers all;
    return all;
  }
  ~Stragglers() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

}  // namespace kvrm::translator
