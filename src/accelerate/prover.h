// The prover: which parts of an iteration follow a closed form, and which are computed in rounds. The checker: whether
// a proof says nothing but what the iteration's expressions say. It shares no code with the prover.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accelerate/freestanding/program.h"
#include "accelerate/iteration.h"

namespace kvrm::accelerate {

struct Proof {
  Kind kind = Kind::kCounted;
  Bulk bulk = Bulk::kNone;
  std::vector<Shape> shapes;      // of the iteration's nodes
  std::vector<Carried> carried;
  std::vector<u16> no_wrap;
  std::vector<u16> aligned;
  std::vector<Table> tables;
  std::vector<Test> tests;
  std::vector<u16> data;          // conditions
  std::vector<u16> setup, body, finals;
};

const char* to_string(Kind kind);

// None, and why, if the loop is not of a kind that bulk steps do.
std::optional<Proof> prove(const Iteration& iteration, std::string& refusal);

// Whether the proof follows from the iteration; otherwise says what does not.
bool check(const Iteration& iteration, const Proof& proof, std::string& error);

class NativeLoop;

// A proven loop with the storage of its program.
class ProvenLoop {
 public:
  ProvenLoop(Iteration iteration, Proof proof);
  ProvenLoop(const ProvenLoop&) = delete;
  ProvenLoop& operator=(const ProvenLoop&) = delete;

  const LoopProgram& program() const { return program_; }
  const Iteration& iteration() const { return iteration_; }
  const Proof& proof() const { return proof_; }
  // Machine code for it; before others see it.
  void use(std::shared_ptr<const NativeLoop> native, NativeRound function) {
    native_ = std::move(native);
    program_.native = function;
  }
  u64 scratch() const;
  // What an iteration costs in a round: columns that are computed, loaded, stored or folded.
  double work() const;

 private:
  void give_columns();
  u32 features() const;

  const Iteration iteration_;
  const Proof proof_;
  std::vector<Access> accesses_;  // only data conditions count as conditions before them
  std::vector<u16> column_of_;
  LoopProgram program_;
  std::shared_ptr<const NativeLoop> native_;
};

}  // namespace kvrm::accelerate
