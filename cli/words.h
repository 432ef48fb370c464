// Words of a line, quoted as in a shell but simpler: blanks separate; '...' is taken as it is; in "..." and outside of
// quotes a backslash takes the next character as it is. No variables, no patterns, no comments.
#pragma once

#include <string>
#include <vector>

#include "kvrm/result.h"

namespace kvrm::cli {

struct Word {
  std::string text;
  bool quoted = false;  // some of it was
};
Result<std::vector<Word>> split_words(const std::string& line);

}  // namespace kvrm::cli
