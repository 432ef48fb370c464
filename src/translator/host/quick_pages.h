// The quick tier: pages of guest code as straight copies of stencils, shared by all lanes of a machine.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "interpreter/entry.h"
#include "translator/host/code_memory.h"

namespace kvrm::translator {

// The code of one page at one address. Its words enter it and leave it as handlers do.
class QuickPage {
 public:
  using Words = std::array<u32, interpreter::kWordsPerPage>;
  static std::shared_ptr<const QuickPage> make(u64 address, const Words& words);

  u64 address() const { return address_; }
  const Words& words() const { return words_; }
  // Null: the interpreter runs this word.
  interpreter::Handler handler(u32 index) const;
  bool contains(interpreter::Handler handler) const;
  std::size_t bytes() const { return sizeof(*this) + code_->size(); }

 private:
  QuickPage() = default;
  u64 address_ = 0;
  Words words_;
  Words entry_points_;
  std::unique_ptr<const CodeMemory> code_;
};
using QuickPagePointer = std::shared_ptr<const QuickPage>;

// Safe for any number of lanes.
class QuickPages {
 public:
  explicit QuickPages(u64 most_bytes) : most_bytes_(most_bytes) {}

  // Whether a page at this address may be there: asks without a lock.
  bool may_have(u64 address) const {
    return (seen_[slot(address)].load(std::memory_order_acquire) & bit(address)) != 0;
  }
  // A page with exactly these words; null: none yet.
  QuickPagePointer find(u64 address, const QuickPage::Words& words);
  // Translates the page unless it is there. Null: no memory.
  QuickPagePointer make(u64 address, const QuickPage::Words& words);

  // Seconds that a page takes, from those so far.
  double seconds_a_page() const { return seconds_a_page_.load(std::memory_order_relaxed); }
  struct Counts {
    u64 pages = 0;
    double seconds = 0;
  };
  Counts counts() const;

 private:
  static constexpr u64 kSlots = 256;
  static u64 hash(u64 address) { return (address >> 12) * 0x9e3779b97f4a7c15 >> 50; }
  static u64 slot(u64 address) { return hash(address) / 64 % kSlots; }
  static u64 bit(u64 address) { return u64{1} << hash(address) % 64; }

  const u64 most_bytes_;
  std::array<std::atomic<u64>, kSlots> seen_{};  // a Bloom filter of addresses
  std::atomic<double> seconds_a_page_ = 400e-6;
  mutable std::mutex mutex_;
  std::unordered_map<u64, std::vector<QuickPagePointer>> pages_;  // by address
  u64 bytes_ = 0;
  Counts counts_;
};

}  // namespace kvrm::translator
