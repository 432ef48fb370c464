// Which values of a function depend on the word alone, and how they are computed from it.
#pragma once

#include <llvm/IR/Function.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "translator/stencils/format.h"

namespace kvrm::translator::stencils {

// The arguments that stand for the word: Operation::kOperands and so on.
using Leaves = std::map<const llvm::Value*, Operation>;

// All expressions of a table, each once.
class Expressions {
 public:
  // The expression of a value; none if it depends on more than the word, or on what expressions cannot say.
  std::optional<u32> of(const llvm::Value* value, const Leaves& leaves);

  const std::vector<Expression>& expressions() const { return expressions_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::map<std::string, u32> known_;
  std::vector<Expression> expressions_;
  std::vector<Step> steps_;
};

// Whether a value depends on the word alone and is not a constant.
bool is_of_word(const llvm::Value* value, const Leaves& leaves);

}  // namespace kvrm::translator::stencils
