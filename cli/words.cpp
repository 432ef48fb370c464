#include "words.h"

namespace kvrm::cli {

Result<std::vector<Word>> split_words(const std::string& line) {
  std::vector<Word> words;
  bool inside = false;  // of a word
  char quote = 0;
  const auto take = [&](char c) {
    if (!inside) words.emplace_back();
    inside = true;
    words.back().text += c;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'') {
      if (++i == line.size()) return Error{"nothing follows the backslash at the end"};
      take(line[i]);
      words.back().quoted = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        take(c);
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      if (!inside) words.emplace_back();
      inside = words.back().quoted = true;
    } else if (c == ' ' || c == '\t') {
      inside = false;
    } else {
      take(c);
    }
  }
  if (quote != 0) return Error{std::string("a ") + quote + " is not closed"};
  return words;
}

}  // namespace kvrm::cli
