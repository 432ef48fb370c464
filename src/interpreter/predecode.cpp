#include "interpreter/predecode.h"

#include <algorithm>

#include "base/atomics.h"
#include "dispatch/router.h"
#include "interpreter/handlers.h"

namespace kvrm::interpreter {
namespace {

// Another lane may be writing the word.
u32 word_at(const u8* page, u32 index) {
  return sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const u32*>(page) + index);
}

}  // namespace

PredecodeCache::PredecodeCache(memory::Mmu& mmu, Context& context, const dispatch::Router& router)
    : mmu_(mmu), context_(context), router_(router), most_pages_(most_pages(mmu.account()->limit())) {
  mmu_.set_code_listener(this);
  code_remapped();
}

PredecodeCache::~PredecodeCache() { mmu_.set_code_listener(nullptr); }

// Decoded code is four times the size of code. It may take a quarter of the guest's memory limit.
std::size_t PredecodeCache::most_pages(u64 memory_limit) {
  return std::clamp<u64>(memory_limit / 4 / sizeof(Page), 32, 1 << 14);
}

void PredecodeCache::clear(DecodedPage& page) {
  for (u32 i = 0; i < kWordsPerPage; ++i) page.entries[i] = {&run_undecoded, 0};
  for (Handler& plain : page.plain) plain = &run_undecoded;
  page.entries[kWordsPerPage] = {&run_page_end, 0};
}

const Entry* PredecodeCache::fetch_fault(u64 pc, Trap trap) {
  context_.page_address = pc;
  context_.entries = &context_.fetch_fault;
  context_.fetch_trap = trap;
  return &context_.fetch_fault;
}

Entry PredecodeCache::decode(u64 pc, u32 word) {
  return make_entry(router_.row(word, pc), word, static_cast<u32>(pc % memory::kPageSize / 4));
}

const Entry* PredecodeCache::enter(u64 pc) {
  if (pc % 4 != 0) return fetch_fault(pc, Trap::kPcAlignment);
  const memory::Mmu::CodePage code = mmu_.code_page(pc);
  if (code.trap != Trap::kNone) return fetch_fault(pc, code.trap);

  // A guest that runs very many pages starts over. Callers hold no entry across this call, only its address.
  if (pages_.size() >= most_pages_) {
    if (regions_) regions_->all_forgotten();  // first: it knows entries of these pages
    pages_.clear();
    code_remapped();
  }
  std::unique_ptr<Page>& cached = pages_[code.bytes];
  if (!cached) {
    cached = std::make_unique_for_overwrite<Page>();  // cleared below
    clear(cached->decoded);
    if (mmu_.is_shared()) cached->words.resize(kWordsPerPage);
  }
  const u64 address = pc & ~(memory::kPageSize - 1);
  if (cached->bound_to != address && cached->bound_to != Context::kNoAddress) {
    forget(code.bytes);
    regions_->code_elsewhere(code.bytes);
  }
  const u32 index = static_cast<u32>(pc % memory::kPageSize / 4);
  Entry* const entries = cached->decoded.entries;
  Entry& entry = entries[index];
  if (entry.run == &run_undecoded) {
    const u32 word = word_at(code.bytes, index);
    if (!cached->words.empty()) cached->words[index] = word;
    const Entry plain = decode(pc, word);
    cached->decoded.plain[index] = plain.run;
    entry = regions_ ? regions_->entry_for(pc, code.bytes, &entry, plain) : plain;
    ++decoded_words_;
  }
  context_.page_address = address;
  context_.entries = entries;
  context_.pages[address / memory::kPageSize % Context::kCachedPages] = {address, entries};
  return &entry;
}

Entry PredecodeCache::enter_once(u64 pc) {
  auto* entry = const_cast<Entry*>(enter(pc));
  const Entry copy = *entry;
  if (entry != &context_.fetch_fault) *entry = {&run_undecoded, 0};
  return copy;
}

Entry PredecodeCache::plain_entry(u64 pc) {
  const Entry* entry = enter(pc);
  if (entry == &context_.fetch_fault) return *entry;
  const auto* page = reinterpret_cast<const DecodedPage*>(context_.entries);
  return {page->plain[pc % memory::kPageSize / 4], entry->operands};
}

Entry* PredecodeCache::find(u64 pc) {
  if (pc % 4 != 0) return nullptr;
  const memory::Mmu::CodePage code = mmu_.code_page(pc);
  if (code.trap != Trap::kNone) return nullptr;
  const auto found = pages_.find(code.bytes);
  return found == pages_.end() ? nullptr : &found->second->decoded.entries[pc % memory::kPageSize / 4];
}

Entry* PredecodeCache::entries_of(const u8* page) {
  const auto found = pages_.find(page);
  return found == pages_.end() ? nullptr : found->second->decoded.entries;
}

bool PredecodeCache::is_undecoded(const Entry& entry) { return entry.run == &run_undecoded; }

// Branches to another address of the page must enter it again.
void PredecodeCache::bind(const u8* page, u64 address) {
  const auto found = pages_.find(page);
  if (found == pages_.end()) return;
  found->second->bound_to = address;
  for (Context::CachedPage& cached : context_.pages)
    if (cached.entries == found->second->decoded.entries) cached = {Context::kNoAddress, nullptr};
}

void PredecodeCache::forget(const u8* page) {
  const auto found = pages_.find(page);
  if (found == pages_.end()) return;
  clear(found->second->decoded);
  bind(page, Context::kNoAddress);
}

void PredecodeCache::code_written(const u8* page) {
  if (pages_.contains(page)) {
    forget(page);
    ++invalidations_;
  }
  if (regions_) regions_->code_written(page);
}

// Words that have changed are decoded again when they run.
void PredecodeCache::other_lane_wrote_code() {
  for (auto& [bytes, cached] : pages_) {
    bool changed = false;
    for (u32 i = 0; i < kWordsPerPage; ++i) {
      Entry& entry = cached->decoded.entries[i];
      if (entry.run == &run_undecoded || cached->words[i] == word_at(bytes, i)) continue;
      entry = {&run_undecoded, 0};
      changed = true;
    }
    invalidations_ += changed;
  }
  if (regions_) regions_->other_lane_wrote_code();
}

void PredecodeCache::code_remapped() {
  for (Context::CachedPage& page : context_.pages) page = {Context::kNoAddress, nullptr};
  if (regions_) regions_->code_remapped();
}

}  // namespace kvrm::interpreter
