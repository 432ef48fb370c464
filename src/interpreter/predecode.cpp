#include "interpreter/predecode.h"

#include <cstring>

#include "interpreter/handlers.h"

namespace kvrm::interpreter {

PredecodeCache::PredecodeCache(memory::AddressSpace& space, Context& context) : space_(space), context_(context) {
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

Entry PredecodeCache::decode(const u8* page, u32 index) {
  u32 word = 0;
  std::memcpy(&word, page + u64{index} * 4, sizeof(word));
  return make_entry(word, index);
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
    if (regions_) regions_->all_forgotten();
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
    const auto region = regions_ ? regions_->entry_for(pc, code.bytes, &entry) : std::nullopt;
    entry = region ? *region : decode(code.bytes, index);
    ++decoded_words_;
  }
  context_.page_address = address;
  context_.entries = page->entries;
  context_.pages[address / memory::kPageSize % Context::kCachedPages] = {address, page->entries};
  return &entry;
}

Entry PredecodeCache::plain_entry(u64 pc) {
  const Entry* entry = enter(pc);
  if (entry == &context_.fetch_fault) return *entry;
  return decode(space_.code_page(pc).bytes, static_cast<u32>(pc % memory::kPageSize / 4));
}

Entry* PredecodeCache::find(u64 pc) {
  if (pc % 4 != 0 || pc >= memory::kAddressLimit) return nullptr;
  const memory::AddressSpace::CodePage code = space_.code_page(pc);
  if (code.trap != Trap::kNone) return nullptr;
  const auto found = pages_.find(code.bytes);
  return found == pages_.end() ? nullptr : &found->second->entries[pc % memory::kPageSize / 4];
}

bool PredecodeCache::has_run(u64 pc) {
  const Entry* entry = find(pc);
  return entry && entry->run != &run_undecoded;
}

void PredecodeCache::code_written(const u8* page) {
  auto found = pages_.find(page);
  if (found != pages_.end()) {
    clear(*found->second);
    ++invalidations_;
  }
  if (regions_) regions_->code_written(page);
}

void PredecodeCache::code_remapped() {
  for (Context::CachedPage& page : context_.pages) page = {Context::kNoAddress, nullptr};
  if (regions_) regions_->code_remapped();
}

}  // namespace kvrm::interpreter
