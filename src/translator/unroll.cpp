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

// Blocks that can only be reached through a given one: those not reached without it.
std::vector<bool> dominated_by(const Plan& plan, u32 header) {
  std::vector<bool> reached = reached_from(plan, plan.entry_points, header);
  reached.flip();
  return reached;
}

// The blocks of the loop with this header: those that lead back to it.
std::set<u32> loop_of(const Plan& plan, u32 header) {
  const auto before = predecessors(plan);
  const auto inside = dominated_by(plan, header);
  std::set<u32> body;
  std::vector<u32> open;
  for (const u32 from : before[header]) {
    if (inside[from]) open.push_back(from);
  }
  if (open.empty()) return {};
  body.insert(header);
  while (!open.empty()) {
    const u32 block = open.back();
    open.pop_back();
    if (!body.insert(block).second) continue;
    for (const u32 from : before[block]) open.push_back(from);
  }
  return body;
}

// How often the body of the loop fits; 0 if it is too long or holds another loop.
u32 copies_of(const Plan& plan, u32 header, const std::set<u32>& body, u32 blocks, const UnrollLimits& limits) {
  u32 words = 0;
  for (const u32 block : body) {
    words += static_cast<u32>(plan.blocks[block].words.size());
    if (block >= blocks || (block != header && plan.blocks[block].is_loop_header)) return 0;
  }
  return body.empty() || words > limits.loop_words ? 0 : std::min(limits.copies, limits.words / words);
}

// Appends a copy of these blocks to the plan and returns the copy's numbers.
std::vector<u32> copy_blocks(Plan& plan, const std::vector<u32>& originals) {
  std::vector<u32> copies;
  for (const u32 block : originals) {
    copies.push_back(static_cast<u32>(plan.blocks.size()));
    plan.blocks.push_back(plan.blocks[block]);
    plan.blocks.back().is_loop_header = false;
    plan.words += static_cast<u32>(plan.blocks[block].words.size());
  }
  return copies;
}

// Back edges of a copy lead to the next copy's header, those of the last copy to the first; other edges stay inside.
void redirect_edges(Plan& plan, const std::vector<u32>& originals, u32 header, const std::vector<u32>& copy,
                    const std::vector<u32>& next) {
  for (const u32 block : copy) {
    for (PlanBlock::Edge& edge : plan.blocks[block].edges) {
      const auto found = edge.block ? std::ranges::find(originals, *edge.block) : originals.end();
      if (found == originals.end()) continue;
      edge.block = (*found == header ? next : copy)[static_cast<std::size_t>(found - originals.begin())];
    }
  }
}

}  // namespace

void unroll_loops(Plan& plan, const UnrollLimits& limits) {
  const u32 blocks = static_cast<u32>(plan.blocks.size());
  for (u32 header = 0; header < blocks; ++header) {
    if (!plan.blocks[header].is_loop_header) continue;
    const std::set<u32> body = loop_of(plan, header);
    const u32 count = copies_of(plan, header, body, blocks, limits);
    if (count == 0) continue;
    const std::vector<u32> originals(body.begin(), body.end());
    std::vector<std::vector<u32>> copies{originals};
    while (copies.size() < count) copies.push_back(copy_blocks(plan, originals));
    for (std::size_t i = 0; i < copies.size(); ++i)
      redirect_edges(plan, originals, header, copies[i], copies[(i + 1) % copies.size()]);
  }
}

}  // namespace kvrm::translator
