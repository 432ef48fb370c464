// Which guest code becomes one region: blocks of words that are followed from a head along direct branches, through
// calls and back behind them.
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
  std::vector<u32> far;  // of these words, those whose accesses must be looked for farther away: where that is a choice
  // Where control goes behind the last word: to another block, or out of the region.
  struct Edge {
    u64 target;
    std::optional<u32> block;
  };
  std::vector<Edge> edges;
  bool may_go_elsewhere = false;  // the last word branches to an address in a register
  bool is_loop_head = false;  // somebody goes back to it
};

// The first block is the head, or the first of several.
struct Plan {
  std::vector<PlanBlock> blocks;
  std::vector<u32> ways_in;  // for each head its block
  u32 words = 0;
  bool usual_float = false;  // it has floating point, and may rely on what CodeView::usual_float says

  // Addresses: all blocks lie in between.
  u64 from() const;
  u64 until() const;
  // Of its words, each once.
  std::vector<u64> addresses() const;
};

struct PlanLimits {
  u32 blocks = 32;
  u32 words = 256;
  u32 calls = 4;  // how deep calls are followed
  bool copy_functions = true;  // a function that is called twice is there twice
  // No code twice: a function is there once for all that call it, and it returns to whichever it was.
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
  // The row of a word, as whoever decides it says.
  std::function<isa::Row(u32 word, u64 address)> row = [](u32 word, u64) { return isa::decode(word); };
  // Behind a barrier there may be other code: another lane writes to the same memory.
  bool barriers_end = false;
  // FPCR is zero and inexact is sticky now, as it mostly is: then the processor's arithmetic serves.
  bool usual_float = false;
};

// Which blocks can be reached from these, themselves included; not through `barred`.
std::vector<bool> reached_from(const Plan& plan, std::vector<u32> blocks, std::optional<u32> barred = std::nullopt);

// A plan without blocks: nothing at one of the heads can be translated.
Plan make_plan(std::span<const u64> heads, const CodeView& code, const PlanLimits& limits);
Plan make_plan(u64 head, const CodeView& code, const PlanLimits& limits);

}  // namespace kvrm::translator
