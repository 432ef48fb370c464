// The predecode cache: decoded pages keyed by physical page. A page whose bytes change is cleared in place, so that
// code which is just running sees the change at its next instruction.
#pragma once

#include <memory>
#include <unordered_map>

#include "interpreter/entry.h"
#include "interpreter/regions.h"

namespace kvrm::interpreter {

class PredecodeCache final : public memory::CodeListener {
 public:
  PredecodeCache(memory::AddressSpace& space, Context& context);
  ~PredecodeCache() override;

  // Makes pc's page current and returns pc's entry, decoded. A fetch that may not happen gives an entry that traps.
  const Entry* enter(u64 pc);

  // pc's entry as its own word's handler, whoever else may run it. pc's page is current.
  Entry plain_entry(u64 pc);
  // The entry for pc, if its page is decoded; else null.
  Entry* find(u64 pc);
  // Whether the word at pc has been decoded, which happens when it first runs.
  bool has_run(u64 pc);
  void set_regions(Regions* regions) { regions_ = regions; }

  void code_written(const u8* page) override;
  void code_remapped() override;

  u64 decoded_words() const { return decoded_words_; }
  u64 invalidations() const { return invalidations_; }

 private:
  static void clear(DecodedPage& page);
  static Entry decode(const u8* page, u32 index);
  const Entry* fetch_fault(u64 pc, Trap trap);

  memory::AddressSpace& space_;
  Context& context_;
  std::unordered_map<const u8*, std::unique_ptr<DecodedPage>> pages_;
  Regions* regions_ = nullptr;
  u64 decoded_words_ = 0;
  u64 invalidations_ = 0;
};

}  // namespace kvrm::interpreter
