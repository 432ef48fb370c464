#include "accelerate/loop_graph.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstddef>

namespace kvrm::accelerate {
namespace {

using llvm::BasicBlock;

constexpr std::size_t kMostPaths = 256, kMostBlocks = 256;

// The blocks of each path to a return.
void each_path(BasicBlock& block, std::vector<BasicBlock*>& path, std::vector<std::vector<BasicBlock*>>& found) {
  if (path.size() > kMostBlocks) {  // a loop
    found.resize(kMostPaths + 1);
    return;
  }
  path.push_back(&block);
  auto* end = block.getTerminator();
  if (llvm::isa<llvm::ReturnInst>(end)) {
    found.push_back(path);
  } else if (llvm::isa<llvm::BranchInst>(end) || llvm::isa<llvm::SwitchInst>(end)) {
    for (u32 i = 0; i < end->getNumSuccessors() && found.size() <= kMostPaths; ++i)
      each_path(*end->getSuccessor(i), path, found);
  }
  path.pop_back();
}

// Whether the path may return `head`.
bool may_return(const std::vector<BasicBlock*>& path, u64 head) {
  llvm::Value* value = llvm::cast<llvm::ReturnInst>(path.back()->getTerminator())->getReturnValue();
  for (auto* phi = llvm::dyn_cast<llvm::PHINode>(value); phi; phi = llvm::dyn_cast<llvm::PHINode>(value)) {
    const auto at = std::ranges::find(path, phi->getParent());
    if (at == path.begin() || at == path.end()) return true;
    value = phi->getIncomingValueForBlock(*(at - 1));
  }
  const auto differs = [&](llvm::Value* one) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(one);
    return constant && constant->getZExtValue() != head;
  };
  if (auto* either = llvm::dyn_cast<llvm::SelectInst>(value))
    return !differs(either->getTrueValue()) || !differs(either->getFalseValue());
  return !differs(value);
}

}  // namespace

std::optional<LoopGraph> LoopGraph::of(llvm::Function& function, u64 head, std::string& refusal) {
  std::vector<BasicBlock*> path;
  std::vector<std::vector<BasicBlock*>> paths;
  each_path(function.getEntryBlock(), path, paths);
  if (paths.size() > kMostPaths) {
    refusal = "too many paths";
    return std::nullopt;
  }
  LoopGraph graph;
  for (const auto& blocks : paths) {
    if (!may_return(blocks, head)) continue;
    for (std::size_t i = 1; i < blocks.size(); ++i) graph.edges_.insert({blocks[i - 1], blocks[i]});
    graph.edges_.insert({blocks.back(), nullptr});
  }
  if (graph.edges_.empty()) {
    refusal = "no path back";
    return std::nullopt;
  }
  std::set<BasicBlock*> seen;
  graph.order(&function.getEntryBlock(), seen);
  std::ranges::reverse(graph.blocks_);
  graph.before_[&function.getEntryBlock()];
  for (BasicBlock* block : graph.blocks_) {
    for (const auto& [from, to] : graph.edges_)
      if (from == block) graph.before_[to].push_back(from);
  }
  graph.find_dominators();
  return graph;
}

void LoopGraph::order(BasicBlock* block, std::set<BasicBlock*>& seen) {
  if (!block || !seen.insert(block).second) return;
  for (u32 i = 0; i < block->getTerminator()->getNumSuccessors(); ++i) {
    BasicBlock* next = block->getTerminator()->getSuccessor(i);
    if (leads(block, next)) order(next, seen);
  }
  blocks_.push_back(block);
}

void LoopGraph::find_dominators() {
  const auto meet = [](const std::vector<const std::set<BasicBlock*>*>& all) {
    std::set<BasicBlock*> common;
    if (all.empty()) return common;
    for (BasicBlock* one : *all[0]) {
      if (std::ranges::all_of(all, [&](const auto* other) { return other->contains(one); })) common.insert(one);
    }
    return common;
  };
  for (BasicBlock* block : blocks_) {
    std::vector<const std::set<BasicBlock*>*> all;
    for (BasicBlock* one : before_[block]) all.push_back(&dominators_[one]);
    dominators_[block] = meet(all);
    dominators_[block].insert(block);
  }
  const std::set<BasicBlock*> end{nullptr};
  for (auto at = blocks_.rbegin(); at != blocks_.rend(); ++at) {
    std::vector<const std::set<BasicBlock*>*> all;
    for (const auto& [from, to] : edges_)
      if (from == *at) all.push_back(to ? &post_dominators_[to] : &end);
    post_dominators_[*at] = meet(all);
    post_dominators_[*at].insert(*at);
  }
}

BasicBlock* LoopGraph::as_often_as(BasicBlock* block) const {
  for (BasicBlock* one : blocks_) {
    if (one != block && dominators_.at(block).contains(one) && post_dominators_.at(one).contains(block)) return one;
  }
  return nullptr;
}

}  // namespace kvrm::accelerate
