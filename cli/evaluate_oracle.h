// kvrm models evaluate oracle.
#pragma once

#include <string>

namespace kvrm::cli {

struct OracleArguments {
  std::string corpus, weights, windows, only;
  std::string level;
  bool training = false;
  bool json = false;
};

int evaluate_oracle(const OracleArguments& arguments);

}  // namespace kvrm::cli
