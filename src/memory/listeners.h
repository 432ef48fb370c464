// Who must be told of changes.
#pragma once

#include <mutex>
#include <vector>

namespace kvrm::memory {

template <class Listener>
class Listeners {
 public:
  // Lanes that share a memory come and go on their own threads.
  void add(Listener* listener) {
    const std::lock_guard lock(mutex_);
    all_.push_back(listener);
  }
  void remove(Listener* listener) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, listener);
  }
  // While no lane comes or goes.
  template <class Tell>
  void each(Tell tell) const {
    for (Listener* listener : all_) tell(*listener);
  }

 private:
  std::mutex mutex_;
  std::vector<Listener*> all_;
};

}  // namespace kvrm::memory
