// The predecode cache: decoded pages keyed by physical page. A page whose bytes change is cleared where it is, so that
// running code sees the change at its next instruction.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interpreter/entry.h"
#include "interpreter/regions.h"

namespace kvrm::dispatch {
struct Router;
}

namespace kvrm::interpreter {

class PredecodeCache final : public memory::CodeListener {
 public:
  // The router outlives the cache.
  PredecodeCache(memory::Mmu& mmu, Context& context, const dispatch::Router& router);
  ~PredecodeCache() override;

  // Makes pc's page current and returns pc's entry, decoded. A fetch that may not happen gives an entry that traps.
  const Entry* enter(u64 pc);

  // pc's entry as its own word's handler, even if a region replaces it. pc's page is current.
  Entry plain_entry(u64 pc);
  // The entry for pc, if its page is decoded; else null.
  Entry* find(u64 pc);
  void set_regions(Regions* regions) { regions_ = regions; }
  // The decoded entries of a physical page; null: there are none.
  Entry* entries_of(const u8* page);
  static bool is_undecoded(const Entry& entry);
  // Entries of the page hold code for this address: they are cleared when it is entered at another one.
  void bind(const u8* page, u64 address);
  // Its words are decoded again when they run.
  void forget(const u8* page);

  void code_written(const u8* page) override;
  void code_remapped() override;
  void other_lane_wrote_code() override;

  // A copy of pc's entry, which is decoded again the next time.
  Entry enter_once(u64 pc);

  u64 decoded_words() const { return decoded_words_; }
  u64 invalidations() const { return invalidations_; }

 private:
  struct Page {
    DecodedPage decoded;
    u64 bound_to = Context::kNoAddress;
    std::vector<u32> words;  // as they were decoded, where other lanes may change them
  };
  static std::size_t most_pages(u64 memory_limit);
  static void clear(DecodedPage& page);
  Entry decode(u64 pc, u32 word);
  const Entry* fetch_fault(u64 pc, Trap trap);

  memory::Mmu& mmu_;
  Context& context_;
  const dispatch::Router& router_;
  const std::size_t most_pages_;
  std::unordered_map<const u8*, std::unique_ptr<Page>> pages_;
  Regions* regions_ = nullptr;
  u64 decoded_words_ = 0;
  u64 invalidations_ = 0;
};

}  // namespace kvrm::interpreter
