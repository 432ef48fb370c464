// kvrm models evaluate loops: the loop detector beside simpler ways to choose which loops are proved first.
#pragma once

#include <string>

namespace kvrm::cli {

// `corpus`: what training/loops_corpus.py made. Prints the table; returns the exit status.
int evaluate_loops(const std::string& corpus, const std::string& weights, bool as_json);

}  // namespace kvrm::cli
