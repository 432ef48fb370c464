#include "interpreter/predecode.h"

#include <cstring>

#include "dispatch/router.h"
#include "interpreter/handlers.h"

namespace kvrm::interpreter {

PredecodeCache::PredecodeCache(memory::AddressSpace& space, Context& context, const dispatch::Router& router)
    : space_(space), context_(context), router_(router) {
  space_.set_code_listener(this);
  code_remapped();
}

PredecodeCache::~PredecodeCache() { space_.set_code_listener(nullptr); }

void PredecodeCache::clear(DecodedPage& page) {
  for (u32 i = 0; i < kWordsPerPage; ++i) page.entries[i] = {&run_undecoded, 0};
  page.entries[kWordsPerPage] = {&run_page_end, 0};
}

const Entry* PredecodeCache::fetch_fault(u64 pc, Trap trap) {
  context_.page_address = pc;
  context_.entries = &context_.fetch_fault;
  context_.fetch_trap = trap;
  return &context_.fetch_fault;
}

const Entry* PredecodeCache::enter(u64 pc) {
  if (pc % 4 != 0) return fetch_fault(pc, Trap::kPcAlignment);
  if (pc >= memory::kAddressLimit) return fetch_fault(pc, Trap::kUnmapped);
  const memory::AddressSpace::CodePage code = space_.code_page(pc);
  if (code.trap != Trap::kNone) return fetch_fault(pc, code.trap);

  // Decoded code is four times the size of code; a guest that runs very many pages starts over. Nobody holds an entry
  // across this call but by its address.
  constexpr std::size_t kMostPages = 1 << 14;
  if (pages_.size() >= kMostPages) {
    pages_.clear();
    code_remapped();
  }
  std::unique_ptr<DecodedPage>& page = pages_[code.bytes];
  if (!page) {
    page = std::make_unique<DecodedPage>();
    clear(*page);
  }
  const u64 address = pc & ~(memory::kPageSize - 1);
  const u32 index = static_cast<u32>(pc % memory::kPageSize / 4);
  Entry& entry = page->entries[index];
  if (entry.run == &run_undecoded) {
    u32 word = 0;
    std::memcpy(&word, code.bytes + u64{index} * 4, sizeof(word));
    entry = make_entry(router_.row(word, pc), word, index);
    ++decoded_words_;
  }
  context_.page_address = address;
  context_.entries = page->entries;
  context_.pages[address / memory::kPageSize % Context::kCachedPages] = {address, page->entries};
  return &entry;
}

Entry PredecodeCache::enter_once(u64 pc) {
  auto* entry = const_cast<Entry*>(enter(pc));
  const Entry copy = *entry;
  if (entry != &context_.fetch_fault) *entry = {&run_undecoded, 0};
  return copy;
}

void PredecodeCache::code_written(const u8* page) {
  auto found = pages_.find(page);
  if (found == pages_.end()) return;
  clear(*found->second);
  ++invalidations_;
}

void PredecodeCache::code_remapped() {
  for (Context::CachedPage& page : context_.pages) page = {Context::kNoAddress, nullptr};
}

}  // namespace kvrm::interpreter
