// What one guest makes its host keep: private pages, page tables, areas, pipes, texts, output that nobody has taken
// yet. One limit for all of it. Decoded and translated code is not on it: that is thrown away when there is much of it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/types.h"

namespace kvrm::memory {

class Account {
 public:
  explicit Account(u64 limit_bytes) : limit_(limit_bytes) {}

  u64 limit() const { return limit_; }
  u64 used() const { return used_.load(std::memory_order_relaxed); }
  u64 room() const {
    const u64 now = used();
    return now < limit_ ? limit_ - now : 0;
  }
  // False, and nothing happens, if that is more than there is room for.
  bool charge(u64 bytes) {
    u64 before = used();
    do {
      if (before > limit_ || bytes > limit_ - before) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(u64 bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const u64 limit_;
  std::atomic<u64> used_ = 0;
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
