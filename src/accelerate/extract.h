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
  // Whether this build has a translator; why not otherwise.
  static bool is_there(std::string& error);
  // Null, and why, if the bitcode cannot be read. Takes milliseconds.
  static std::unique_ptr<Extractor> create(std::string& error);
  virtual ~Extractor() = default;

  // None, and why, if an iteration is more than expressions over one path.
  virtual std::optional<Iteration> extract(const LoopCode& code, std::string& refusal) = 0;
};

}  // namespace kvrm::accelerate
