// The quick tier: pages of guest code as straight copies of stencils, shared by all lanes of a machine.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "interpreter/entry.h"
#include "memory/window_faults.h"
#include "translator/host/code_memory.h"
#include "translator/stencils/table.h"

namespace kvrm::translator {

class QuickPage;

// Finds the page that a host pc belongs to, for faults in windows. Its readers are signal handlers.
class QuickFaults {
 public:
  bool arrive() const { return registered_.is_registered(); }
  void insert(const QuickPage& page);
  void erase(const QuickPage& page);

 private:
  static const void* find(const void* owner, const void* pc);
  memory::LandingTable pages_;  // by the beginning of each block of code
  memory::RegisteredCode registered_{nullptr, reinterpret_cast<const void*>(~u64{0}), &find, this};
};

// The code of one page at one address. Its words enter it and leave it as handlers do.
class QuickPage {
 public:
  using Words = std::array<u32, interpreter::kWordsPerPage>;
  // `faults`: of pages that access windows.
  // `live`: the bytes of all pages that there are.
  using LiveBytes = std::shared_ptr<std::atomic<u64>>;
  static std::shared_ptr<const QuickPage> make(u64 address, const Words& words, std::shared_ptr<QuickFaults> faults,
                                               const LiveBytes& live, bool lists_for_perf);
  ~QuickPage();

  u64 address() const { return address_; }
  const Words& words() const { return words_; }
  bool uses_window() const { return faults_ != nullptr; }
  const CodeMemory& code() const { return *code_; }
  // Where the access at this host pc continues; null: there is none.
  const void* landing(const void* pc) const;
  // Null: the interpreter runs this word.
  interpreter::Handler handler(u32 index) const;

 private:
  QuickPage() = default;
  u64 address_ = 0;
  Words words_;
  Words entry_points_;
  std::unique_ptr<const CodeMemory> code_;
  std::vector<stencils::PageCode::Access> accesses_;
  std::shared_ptr<QuickFaults> faults_;
  LiveBytes live_;
  u64 bytes_ = 0;
};
using QuickPagePointer = std::shared_ptr<const QuickPage>;

// Safe for any number of lanes.
class QuickPages {
 public:
  explicit QuickPages(u64 most_bytes, bool lists_for_perf = false)
      : most_bytes_(most_bytes), lists_for_perf_(lists_for_perf) {}

  // Whether a page at this address may be there: asks without a lock.
  bool may_have(u64 address) const {
    return (seen_[slot(address)].load(std::memory_order_acquire) & bit(address)) != 0;
  }
  // A page with exactly these words; null: none yet.
  QuickPagePointer find(u64 address, const QuickPage::Words& words, bool uses_window);
  // Translates the page unless it is there. Null: there are too many pages, or the host has no memory.
  QuickPagePointer make(u64 address, const QuickPage::Words& words, bool uses_window);
  // Whether pages may access windows.
  bool may_use_window() const { return faults_->arrive(); }

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
  const bool lists_for_perf_;
  const std::shared_ptr<QuickFaults> faults_ = std::make_shared<QuickFaults>();
  std::array<std::atomic<u64>, kSlots> seen_{};  // a Bloom filter of addresses
  std::atomic<double> seconds_a_page_ = 400e-6;
  mutable std::mutex mutex_;
  std::unordered_map<u64, std::vector<QuickPagePointer>> pages_;  // by address
  const QuickPage::LiveBytes live_ = std::make_shared<std::atomic<u64>>(0);
  Counts counts_;
};

}  // namespace kvrm::translator
