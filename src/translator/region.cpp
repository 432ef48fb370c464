#include "translator/region.h"

#include <algorithm>
#include <cstdio>

#include "memory/freestanding/page.h"

namespace kvrm::translator {
namespace {

class Hash {
 public:
  void add(u64 value) {
    hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15;
    hash_ ^= hash_ >> 32;
  }
  u64 value() const { return hash_; }

 private:
  u64 hash_ = 0xcbf29ce484222325;
};

}  // namespace

// The plan's edges are part of the hash: the same words may form another graph.
Source Source::of(const Plan& plan) {
  Source source;
  source.entry_pc = plan.blocks.front().address;
  source.default_fp_mode = plan.default_fp_mode;
  Hash hash;
  source.uses_window = plan.uses_window;
  hash.add(plan.default_fp_mode);
  hash.add(plan.uses_window);
  for (const PlanBlock& block : plan.blocks) {
    hash.add(block.address);
    for (const u32 word : block.words) hash.add(word);
    for (const PlanBlock::Edge& edge : block.edges) {
      hash.add(edge.target);
      hash.add(edge.block ? *edge.block : ~u64{0});
    }
    const bool listed =
        std::ranges::any_of(source.spans, [&](const Span& span) { return span.address == block.address; });
    if (!listed) source.spans.push_back({block.address, block.words});
  }
  source.hash = hash.value();
  return source;
}

std::string Source::name() const {
  char text[64];
  std::snprintf(text, sizeof text, "kvrm_region_%llx_%016llx", entry_pc, hash);
  return text;
}

std::vector<u64> Source::pages() const {
  std::vector<u64> found;
  for (const Span& span : spans) {
    const u64 last = span.address + span.words.size() * 4 - 1;
    for (u64 page = span.address / memory::kPageSize; page <= last / memory::kPageSize; ++page) {
      found.push_back(page * memory::kPageSize);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool Source::holds(u64 pc) const {
  return std::ranges::any_of(spans, [&](const Span& span) { return pc - span.address < span.words.size() * 4; });
}

std::vector<u64> Source::addresses() const {
  std::vector<u64> found;
  for (const Span& span : spans) {
    for (u64 i = 0; i < span.words.size(); ++i) found.push_back(span.address + i * 4);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace kvrm::translator
