// What one guest makes its host keep: private pages, page tables, areas, pipes, texts, detached segments, output that
// waits for its reader. One limit for all of it. Decoded and translated code is not on it: that is dropped when there
// is much of it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/types.h"

namespace kvrm::memory {

class Account {
 public:
  explicit Account(u64 limit_bytes) : limit_(limit_bytes) {}

  u64 limit() const { return limit_; }
  u64 used() const { return held() + elsewhere(); }
  u64 room() const {
    const u64 now = used();
    return now < limit_ ? limit_ - now : 0;
  }
  // False, and nothing happens, if that is more than there is room for.
  bool charge(u64 bytes) {
    if (const u64 idle = idle_.load(std::memory_order_relaxed); idle != 0 && reclaim_) {
      const u64 free = room();
      if (free < idle || bytes > free - idle) reclaim_();
    }
    const u64 other = elsewhere();
    u64 before = held();
    do {
      if (other > limit_ || before > limit_ - other || bytes > limit_ - other - before) return false;
    } while (!held_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  void add(u64 bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }  // that were released just now
  void release(u64 bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Memory that was released and that the host still has: it counts, but goes before a charge fails. `reclaim` runs in
  // a thread that charges.
  void add_idle(u64 bytes) { idle_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove_idle(u64 bytes) { idle_.fetch_sub(bytes, std::memory_order_relaxed); }
  void set_reclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }

  // A guest on another device has its pages there. Both sides have the one limit, less what the other one holds
  // (linux/shared_limit.h).
  u64 held() const { return held_.load(std::memory_order_relaxed); }
  u64 elsewhere() const { return elsewhere_.load(std::memory_order_relaxed); }
  void set_elsewhere(u64 bytes) { elsewhere_.store(bytes, std::memory_order_relaxed); }
  u64 told() const { return told_; }  // how much of held() the device knows of
  void set_told(u64 bytes) { told_ = bytes; }

 private:
  const u64 limit_;
  std::atomic<u64> held_ = 0, idle_ = 0, elsewhere_ = 0;
  u64 told_ = 0;
  std::function<void()> reclaim_;
};
using AccountPointer = std::shared_ptr<Account>;

// Bytes that are on an account for as long as this lives.
class Charge {
 public:
  // Null if there is no room.
  static std::shared_ptr<const Charge> make(const AccountPointer& account, u64 bytes) {
    if (!account->charge(bytes)) return nullptr;
    return std::make_shared<const Charge>(account, bytes);
  }
  // They are on it already.
  Charge(AccountPointer account, u64 bytes) : account_(std::move(account)), bytes_(bytes) {}
  ~Charge() { account_->release(bytes_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const AccountPointer account_;
  const u64 bytes_;
};

}  // namespace kvrm::memory
