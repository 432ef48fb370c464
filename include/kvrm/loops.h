// The loops of programs: found in code, proved, and ranked before they are proved (docs/co-processors.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// An innermost loop in a file.
struct StaticLoop {
  std::string routine;  // one that contains it, if the file has symbols
  Loop loop;            // address (in object files: of no meaning) and words
};
// Of a linked program, a shared library, an archive (.a) or an object file.
KVRM_API Result<std::vector<StaticLoop>> find_loops(const std::string& path);

// What the prover says of a loop, in its own terms and in those of the loop detector.
struct LoopProof {
  bool proved = false;
  std::string kind;    // counted, fill, copy, scan, reduction, map; empty: refused
  std::string reason;  // why it was refused
  unsigned type = 0;   // none (refused), count up, count down, memory fill
  unsigned counter = 31;  // the register that ends the loop; 31: none
  std::uint64_t nodes = 0;  // of an iteration's expressions
  double seconds = 0;  // of processor time
};
KVRM_API std::string_view loop_type_name(unsigned type);

// Proves loops without running anything. One thread at a time.
class LoopProver {
 public:
  // An error where the build has no translator.
  KVRM_API static Result<LoopProver> create();
  KVRM_API LoopProver(LoopProver&&) noexcept;
  KVRM_API ~LoopProver();
  KVRM_API LoopProof prove(const Loop& loop);

 private:
  struct Parts;
  explicit LoopProver(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// What a model takes a loop for.
struct LoopGuess {
  std::array<double, 4> types{};  // probabilities, in the order of LoopProof::type
  unsigned counter = 31;          // the likeliest; 31: none
  double trips_log2 = 0;          // of 1 + how often the branch back is taken
  double seconds = 0;             // of processor time

  double chance() const { return 1 - types[0]; }  // that the prover proves it
};

// The loop detector, or the decision tree that it is compared with. Any number of threads.
class LoopGuesser {
 public:
  // `weights`: of the loop detector; null: the built-in weights.
  KVRM_API static Result<LoopGuesser> create(LoopRanking ranking, WeightsPointer weights = {});
  KVRM_API LoopGuesser(LoopGuesser&&) noexcept;
  KVRM_API ~LoopGuesser();
  // From the loop's words and, if it has such a run, from the registers of that.
  KVRM_API LoopGuess guess(const Loop& loop, std::size_t run = 0) const;

 private:
  struct Parts;
  explicit LoopGuesser(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm
