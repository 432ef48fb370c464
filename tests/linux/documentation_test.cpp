// docs/linux.md names every call that is not supported: its tables are what syscalls.inc says.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "base/types.h"

namespace kvrm::linux_abi::test {
namespace {

constexpr std::size_t kWidth = 120;
using Lists = std::map<std::string, std::vector<std::string>>;

// Lines that fit: a row of a table cannot go on in the next line, so long ones become several.
std::string rows(const std::string& first, const Lists& lists) {
  std::string text = "| " + first + " | calls |\n|---|---|\n";
  for (const auto& [what, names] : lists) {
    std::string line = "| " + what + " |";
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string next = (line.ends_with('|') ? " `" : ", `") + names[i] + "`";
      if (line.size() + next.size() + 2 > kWidth) {
        text += line + " |\n";
        line = "| | `" + names[i] + "`";
      } else {
        line += next;
      }
    }
    text += line + " |\n";
  }
  return text;
}

std::string read_page() {
  std::ifstream file(KVRM_DOCS "/linux.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Documentation, NamesEveryCallThatIsNotSupported) {
  Lists missing;
#define KVRM_NONE(number, name, what) missing[what].push_back(#name);
#define KVRM_REFUSED(number, name, result, what) missing[what].push_back(#name);
#include "linux/syscalls.inc"
  const std::string table = rows("not there", missing);
  EXPECT_NE(read_page().find(table), std::string::npos) << "docs/linux.md should say:\n\n" << table;
}

TEST(Documentation, NamesEveryCallThatAlwaysFails) {
  Lists refused;
  const auto add = [&](std::string result, const char* name) {
    if (result == "0") return;
    result = result.substr(result.find('k') + 1);  // -kEperm
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::toupper(c); });
    refused[result].push_back(name);
  };
#define KVRM_FIXED(number, name, result) add(#result, #name);
#define KVRM_SAME(number, name, handler) \
  if (std::string(#handler) == "not_a_socket") add("-kEnotsock", #name);
#include "linux/syscalls.inc"
  const std::string table = rows("error", refused);
  EXPECT_NE(read_page().find(table), std::string::npos) << "docs/linux.md should say:\n\n" << table;
}

}  // namespace
}  // namespace kvrm::linux_abi::test
