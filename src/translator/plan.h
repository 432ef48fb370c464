// Which guest code becomes one region: the blocks that direct branches, calls and returns reach from an entry pc.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "isa/decode.h"

namespace kvrm::translator {

struct PlanBlock {
  u64 address = 0;
  std::vector<u32> words;
  std::vector<isa::Row> rows;  // of the words
  std::vector<u32> l2_lookups;  // indexes of words whose accesses read the L2 TLB in a call; GPU only
  // Where control goes after the last word: to another block, or out of the region.
  struct Edge {
    u64 target;
    std::optional<u32> block;
  };
  std::vector<Edge> edges;
  bool has_indirect_branch = false;  // the last word branches to an address in a register
  bool is_loop_header = false;  // a back edge leads to it
};

// The first block is the first entry point.
struct Plan {
  std::vector<PlanBlock> blocks;
  std::vector<u32> entry_points;  // the block of each
  u32 words = 0;
  bool default_fp_mode = false;  // it has floating point and relies on CodeView::default_fp_mode
  bool uses_window = false;      // accesses memory through the lane's window
  bool dispatches = false;  // indirect branches reach every entry point inside the region

  // All blocks lie between these addresses.
  u64 from() const;
  u64 until() const;
  // The addresses of its words, each once.
  std::vector<u64> addresses() const;
};

struct PlanLimits {
  u32 blocks = 32;
  u32 words = 256;
  u32 calls = 4;  // nesting depth to which calls are followed
  bool copy_functions = true;  // each call of a function has its copy
  // No code twice: a function is there once for all its callers and returns to each of them. Indirect branches reach
  // every entry point.
  bool once = false;
};

// Control goes from one word to another; `flow` is the first word's.
struct Transition {
  u64 from, to;
  isa::Flow flow;
};

struct CodeView {
  // The word at an address; none if it may not be executed.
  std::function<std::optional<u32>(u64 address)> word;
  // Whether it is worth following: code that hardly ever runs is left out.
  std::function<bool(const Transition& transition)> follow;
  // Where the indirect branch or call at this address was seen to go, the most frequent first. The plan follows them as
  // it follows direct branches; whatever else the register holds leaves the region. Not asked for returns, and not by
  // plans with PlanLimits::once.
  std::function<std::vector<u64>(u64 address)> targets = [](u64) { return std::vector<u64>(); };
  // The row of a word, as the router says.
  std::function<isa::Row(u32 word, u64 address)> row = [](u32 word, u64) { return isa::decode(word); };
  // A region ends at a barrier: another lane may have written other code after it.
  bool barriers_end = false;
  // FPCR is zero and inexact is sticky now, as mostly: then the host's arithmetic serves.
  bool default_fp_mode = false;
};

// The blocks that these reach, themselves included, not through `barred`.
std::vector<bool> reached_from(const Plan& plan, std::vector<u32> blocks, std::optional<u32> barred = std::nullopt);

// A plan without blocks: nothing at one of the entries can be translated.
Plan make_plan(std::span<const u64> entry_pcs, const CodeView& code, const PlanLimits& limits);
Plan make_plan(u64 entry_pc, const CodeView& code, const PlanLimits& limits);

}  // namespace kvrm::translator
