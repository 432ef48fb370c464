#include "command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace kvrm::cli {
namespace {

const CLI::App* subcommand(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The fewest letters to insert, remove or replace.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Whether the option takes the next word as its value.
bool takes_value(const CLI::App& command, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option && option->get_items_expected_min() > 0;
}

}  // namespace

const CLI::App& command_named(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* next = subcommand(*command, word);
    if (!next) break;
    command = next;
  }
  return *command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

Result<void> check_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto names = subcommand_names(*command);
    if (names.empty() || word == "--help" || word == "-h" || word == "--version") return {};
    if (word.starts_with("-")) {
      return Error{fmt::format("no option {} before the command (see {} --help)", word, full_name(*command))};
    }
    const CLI::App* next = subcommand(*command, word);
    if (!next) {
      const std::string meant = nearest(word, names);
      return Error{fmt::format("no command '{}'{} (see {} --help)", word,
                               meant.empty() ? "; there are " + fmt::format("{}", fmt::join(names, ", "))
                                             : "; did you mean '" + meant + "'?",
                               full_name(*command))};
    }
    command = next;
  }
  const auto names = subcommand_names(*command);
  if (names.empty()) return {};
  return Error{fmt::format("{}which command? {} (see {} --help)", command == &app ? "" : command->get_name() + ": ",
                           fmt::join(names, ", "), full_name(*command))};
}

std::vector<std::string> take_separated(const CLI::App& app, std::vector<std::string>& words) {
  const CLI::App& command = command_named(app, words);
  if (!command.get_prefix_command()) return {};
  for (std::size_t i = 1; i < words.size() && words[i].starts_with("-"); ++i) {
    if (words[i] == "--") {
      std::vector<std::string> separated(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      words.resize(i);
      return separated;
    }
    if (takes_value(command, words[i])) ++i;
  }
  return {};
}

Result<std::vector<std::string>> guest_command(const CLI::App& command, const std::vector<std::string>& separated) {
  const std::vector<std::string> left = command.remaining();
  if (left.empty()) return separated;
  if (!left.front().starts_with("-")) return left;
  const std::string meant = nearest(left.front(), option_names(command));
  return Error{fmt::format("no option {}{} (see {} --help)", left.front(),
                           meant.empty() ? "" : "; did you mean " + meant + "?", full_name(command))};
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() > 1 && candidate.starts_with(word);
    const std::size_t letters = begins ? 0 : distance(word, candidate);
    if (letters < least) {
      least = letters;
      best = candidate;
    }
  }
  return best;
}

}  // namespace kvrm::cli
