#include "accelerate/sampled_loops.h"

#include <algorithm>
#include <optional>

#include "accelerate/loops.h"
#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::accelerate {
namespace {

constexpr u64 kPageWords = memory::kPageSize / 4;

// By how many words a branch back goes.
std::optional<i64> words_back(u32 word) {
  i64 offset = 0;
  switch (isa::decode(word)) {
    case isa::Row::B: offset = isa::B::decode(word).simm26; break;
    case isa::Row::B_cond: offset = isa::B_cond::decode(word).simm19; break;
    case isa::Row::CBZ: offset = isa::CBZ::decode(word).simm19; break;
    case isa::Row::CBNZ: offset = isa::CBNZ::decode(word).simm19; break;
    case isa::Row::TBZ: offset = isa::TBZ::decode(word).simm14; break;
    case isa::Row::TBNZ: offset = isa::TBNZ::decode(word).simm14; break;
    default: return std::nullopt;
  }
  return offset <= 0 && -offset < static_cast<i64>(kMostWords) ? std::optional(-offset) : std::nullopt;
}

}  // namespace

std::vector<SampledLoop> sampled_loops(std::span<const u32> words, u64 start, std::span<const u64> samples) {
  std::vector<SampledLoop> loops;
  u64 last_sampled = 0;
  bool any = false;
  u32 nearest_head = 0;  // of the branches back so far: a loop around another one begins no later
  bool has_inner = false;
  for (u32 branch = 0; branch < words.size(); ++branch) {
    if (samples[branch] != 0) {
      last_sampled = branch;
      any = true;
    }
    const std::optional<i64> back = words_back(words[branch]);
    if (!back || *back > i64{branch}) continue;
    const u32 head = branch - static_cast<u32>(*back);
    const bool is_around = has_inner && head <= nearest_head;
    nearest_head = has_inner ? std::max(nearest_head, head) : head;
    has_inner = true;
    const u64 in_page = start / 4 % kPageWords;
    if (is_around || !any || last_sampled < head || (in_page + head) / kPageWords != (in_page + branch) / kPageWords)
      continue;
    SampledLoop loop{head, branch, 0};
    for (u32 i = head; i <= branch; ++i) loop.samples += samples[i];
    loops.push_back(loop);
  }
  std::ranges::sort(loops, [](const SampledLoop& a, const SampledLoop& b) {
    return a.samples != b.samples ? a.samples > b.samples : a.head < b.head;
  });
  return loops;
}

}  // namespace kvrm::accelerate
