// A proven loop as the threads of a warp run it (warp_step.h): its program, with what they can do side by side put
// together. Plain data in the memory of a device, made by accelerate/warp_loop.h.
#pragma once

#include "accelerate/freestanding/program.h"
#include "accelerate/freestanding/step_values.h"

namespace kvrm::accelerate {

inline constexpr u32 kWarpThreads = 32;
// Iterations of a block: the threads compute their part of it, column by column.
inline constexpr u32 kWarpParts = 8, kWarpBlock = kWarpParts * kWarpThreads;
// Of a round: its pages are checked together.
inline constexpr u32 kWarpRound = 4096;
// Of a bulk step with rounds: then the lane polls the host.
inline constexpr u32 kWarpMost = 1u << 16;
inline constexpr u32 kWarpAccesses = kWarpThreads, kWarpColumns = 48, kWarpReductions = 4, kWarpStateWords = 2048;

struct WarpLoop {
  LoopProgram program;      // setup and finals sorted by level: nodes depend on those of lower levels only
  List<u16> setup_levels;   // where each level ends
  List<u16> final_levels;
  const u16* columns = nullptr;     // of each node: what the body computes; kNoNode: none
  const u16* reductions = nullptr;  // of each carried part
  u16 column_count = 0, reduction_count = 0;
  u32 state_words = 0;      // what a step needs beside columns
  bool has_vectors = false;  // the setup reads vector registers
  bool has_linear = false;
  bool has_early_steps = false;  // what affine parts change by are inputs and constants
  bool has_rounds = false;  // otherwise any number of iterations takes the same time
  bool votes = false;       // whether an iteration goes on is known only when it is computed
};

// Numbers of scratch space of a step: some in fast memory, others in the device's.
constexpr u64 warp_state_words(u64 nodes, u64 carried, u64 reductions, bool has_linear) {
  return StepValues<Cpu>::size(nodes, carried) + kWarpAccesses + reductions * kWarpThreads +
         (has_linear ? sizeof(LinearSpace) / sizeof(u64) : 0);
}
inline constexpr u64 kWarpScratchWords = kWarpStateWords + u64{kWarpColumns} * kWarpBlock;

}  // namespace kvrm::accelerate
