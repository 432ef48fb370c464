// kvrm models evaluate oracle.
#pragma once

#include <string>
#include <vector>

namespace kvrm::cli {

struct OracleArguments {
  std::string corpus, windows, only;
  std::vector<std::string> weights;
  std::string level;
  bool training = false;
  bool json = false;
};

int evaluate_oracle(const OracleArguments& arguments);

}  // namespace kvrm::cli
