// From a loop's words to expressions: the translator's stitcher makes IR of the rows, and each operation of the IR
// becomes a node.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "accelerate/iteration.h"

namespace kvrm::accelerate {

// One thread at a time.
class Extractor {
 public:
  // Null, and why, if this build has no translator.
  static std::unique_ptr<Extractor> create(std::string& error);
  virtual ~Extractor() = default;

  // None, and why, if an iteration is more than expressions over one path.
  virtual std::optional<Iteration> extract(const LoopCode& code, std::string& refusal) = 0;
};

}  // namespace kvrm::accelerate
