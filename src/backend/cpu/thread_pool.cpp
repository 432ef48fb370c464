#include "backend/cpu/thread_pool.h"

namespace kvrm::backend::cpu {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begin_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::each(u64 count, const std::function<void(u64)>& work) {
  if (count <= 1 || threads_ <= 1) {
    for (u64 i = 0; i < count; ++i) work(i);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    while (workers_.size() + 1 < threads_) workers_.emplace_back([this] { serve(); });
    work_ = &work;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<unsigned>(workers_.size());
    ++round_;
  }
  begin_.notify_all();
  drain(work);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::drain(const std::function<void(u64)>& work) {
  for (u64 i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) work(i);
}

void ThreadPool::serve() {
  u64 seen = 0;
  for (std::unique_lock lock(mutex_);;) {
    begin_.wait(lock, [&] { return closing_ || round_ != seen; });
    if (closing_) return;
    seen = round_;
    const auto& work = *work_;
    lock.unlock();
    drain(work);
    lock.lock();
    if (--busy_ == 0) end_.notify_one();
  }
}

}  // namespace kvrm::backend::cpu
