// Machine code for iterations of a proven loop, made of its nodes by LLVM, which vectorizes it. A bulk step, which
// calls it, has made sure that the iterations do not depend on each other but for what they fold.
#pragma once

#include <memory>
#include <string>

#include "accelerate/freestanding/native_round.h"
#include "accelerate/prover.h"

namespace kvrm::accelerate {

// Linked code; the destructor frees it.
class NativeLoop {
 public:
  virtual ~NativeLoop() = default;
  virtual NativeRound function() const = 0;
};

// One thread at a time.
class NativeCompiler {
 public:
  // Null, and why, if this build or this host cannot do it. Takes milliseconds.
  static std::unique_ptr<NativeCompiler> create(std::string& error);
  virtual ~NativeCompiler() = default;

  // Null if the loop has something that this does not do.
  virtual std::shared_ptr<const NativeLoop> compile(const ProvenLoop& loop) = 0;
};

}  // namespace kvrm::accelerate
