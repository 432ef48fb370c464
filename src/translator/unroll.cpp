#include "translator/unroll.h"

#include <algorithm>
#include <set>

namespace kvrm::translator {
namespace {

std::vector<std::vector<u32>> predecessors(const Plan& plan) {
  std::vector<std::vector<u32>> before(plan.blocks.size());
  for (u32 i = 0; i < plan.blocks.size(); ++i) {
    for (const PlanBlock::Edge& edge : plan.blocks[i].edges) {
      if (edge.block) before[*edge.block].push_back(i);
    }
  }
  return before;
}

// Which blocks can only be reached through a given one: whatever is not reached without it.
std::vector<bool> dominated_by(const Plan& plan, u32 head) {
  std::vector<bool> reached = reached_from(plan, plan.ways_in, head);
  reached.flip();
  return reached;
}

// The blocks of the loop with this head: those that lead back to it.
std::set<u32> loop_of(const Plan& plan, u32 head) {
  const auto before = predecessors(plan);
  const auto inside = dominated_by(plan, head);
  std::set<u32> body;
  std::vector<u32> open;
  for (const u32 from : before[head]) {
    if (inside[from]) open.push_back(from);
  }
  if (open.empty()) return {};
  body.insert(head);
  while (!open.empty()) {
    const u32 block = open.back();
    open.pop_back();
    if (!body.insert(block).second) continue;
    for (const u32 from : before[block]) open.push_back(from);
  }
  return body;
}

}  // namespace

void unroll_loops(Plan& plan, const UnrollLimits& limits) {
  const u32 blocks = static_cast<u32>(plan.blocks.size());
  for (u32 head = 0; head < blocks; ++head) {
    if (!plan.blocks[head].is_loop_head) continue;
    const std::set<u32> body = loop_of(plan, head);
    u32 words = 0;
    bool simple = !body.empty();
    for (const u32 block : body) {
      words += static_cast<u32>(plan.blocks[block].words.size());
      simple = simple && block < blocks && (block == head || !plan.blocks[block].is_loop_head);
    }
    if (!simple || words > limits.loop_words) continue;
    const u32 rounds = std::min(limits.rounds, limits.words / words);
    // In each copy, and in the original, edges back to the head lead to the next copy; the last one's lead back.
    std::vector<u32> originals(body.begin(), body.end());
    std::vector<std::vector<u32>> numbers{originals};
    for (u32 round = 1; round < rounds; ++round) {
      std::vector<u32>& copies = numbers.emplace_back();
      for (const u32 block : originals) {
        copies.push_back(static_cast<u32>(plan.blocks.size()));
        plan.blocks.push_back(plan.blocks[block]);
        plan.blocks.back().is_loop_head = false;
        plan.words += static_cast<u32>(plan.blocks[block].words.size());
      }
    }
    const auto place = [&](u32 block) {
      return static_cast<std::size_t>(std::ranges::find(originals, block) - originals.begin());
    };
    const std::size_t first = place(head);
    for (u32 round = 0; round < numbers.size(); ++round) {
      for (const u32 block : numbers[round]) {
        for (PlanBlock::Edge& edge : plan.blocks[block].edges) {
          if (!edge.block) continue;
          if (*edge.block == head) {
            edge.block = numbers[(round + 1) % numbers.size()][first];
          } else if (body.contains(*edge.block)) {
            edge.block = numbers[round][place(*edge.block)];
          }
        }
      }
    }
  }
}

}  // namespace kvrm::translator
