#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "formatted.h"

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

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The fewest letters to insert, remove or replace.
std::size_t edit_distance(const std::string& a, const std::string& b) {
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

// Of the candidates the one that `word` is most likely a slip of, or nothing.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() > 1 && candidate.starts_with(word);
    const std::size_t letters = begins ? 0 : edit_distance(word, candidate);
    if (letters < least) {
      least = letters;
      best = candidate;
    }
  }
  return best;
}

// Whether the option takes the next word as its value.
bool takes_value(const CLI::App& command, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option && option->get_items_expected_min() > 0;
}

// The command that the first words name, as deep as they go.
const CLI::App& command_named(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* next = subcommand(*command, word);
    if (!next) break;
    command = next;
  }
  return *command;
}

// "kvrm models verify".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

// The error if the words name no command: which one is missing or unknown, and the nearest.
Result<void> check_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto names = subcommand_names(*command);
    if (names.empty() || word == "--help" || word == "-h" || word == "--version") return {};
    if (word.starts_with("-")) {
      return Error{formatted("no option {} before the command (see {} --help)", word, full_name(*command))};
    }
    const CLI::App* next = subcommand(*command, word);
    if (!next) {
      const std::string meant = nearest(word, names);
      return Error{formatted("no command '{}'{} (see {} --help)", word,
                             meant.empty() ? "; there are " + joined(names) : "; did you mean '" + meant + "'?",
                             full_name(*command))};
    }
    command = next;
  }
  const auto names = subcommand_names(*command);
  if (names.empty()) return {};
  return Error{formatted("{}which command? {} (see {} --help)", command == &app ? "" : command->get_name() + ": ",
                         joined(names), full_name(*command))};
}

// Of a command that runs a guest: removes `--` and what follows it from the words, if `--` ends kvrm's options.
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

// Lines that fit beside the column of option names.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 88;
  std::istringstream words(text);
  std::string result, word;
  for (std::size_t column = 0; words >> word; column += word.size()) {
    if (column != 0 && column + 1 + word.size() > kWidth) {
      result += '\n';
      column = 0;
    } else if (column != 0) {
      result += ' ';
      ++column;
    }
    result += word;
  }
  return result;
}

}  // namespace

OptionSpec& OptionSpec::required() {
  option_->required();
  return *this;
}

OptionSpec& OptionSpec::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

OptionSpec& OptionSpec::show_default() {
  option_->capture_default_str();
  return *this;
}

OptionSpec& OptionSpec::show_default(const std::string& text) {
  option_->default_str(text);
  return *this;
}

CommandSpec CommandSpec::add_command(const std::string& name, const std::string& purpose) const {
  return CommandSpec(app_->add_subcommand(name, purpose));
}

void CommandSpec::needs_command() const { app_->require_subcommand(1); }

void CommandSpec::takes_guest() const { app_->prefix_command(); }

void CommandSpec::footer(const std::string& text) const { app_->footer(text); }

void CommandSpec::on_parsed(std::function<void()> call) const { app_->callback(std::move(call)); }

OptionSpec CommandSpec::option(const std::string& name, std::string& value, const std::string& help) const {
  return OptionSpec(app_->add_option(name, value, wrapped(help)));
}

OptionSpec CommandSpec::option(const std::string& name, std::vector<std::string>& values,
                               const std::string& help) const {
  return OptionSpec(app_->add_option(name, values, wrapped(help)));
}

OptionSpec CommandSpec::repeated(const std::string& name, std::vector<std::string>& values,
                                 const std::string& help) const {
  CLI::Option* option = app_->add_option(name, values, wrapped(help));
  option->allow_extra_args(false)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return OptionSpec(option);
}

OptionSpec CommandSpec::flag(const std::string& name, bool& value, const std::string& help) const {
  return OptionSpec(app_->add_flag(name, value, wrapped(help)));
}

OptionSpec CommandSpec::flag(const std::string& name, std::string& value, const std::string& help) const {
  return OptionSpec(app_->add_flag(name, value, wrapped(help)));
}

Result<std::vector<std::string>> CommandSpec::guest_command(const std::vector<std::string>& separated) const {
  const std::vector<std::string> left = app_->remaining();
  if (left.empty()) return separated;
  if (!left.front().starts_with("-")) return left;
  const std::string meant = nearest(left.front(), option_names(*app_));
  return Error{formatted("no option {}{} (see {} --help)", left.front(),
                         meant.empty() ? "" : "; did you mean " + meant + "?", full_name(*app_))};
}

CommandLine::CommandLine(const std::string& name, const std::string& purpose, const std::string& version)
    : app_(std::make_unique<CLI::App>(purpose, name)) {
  app_->set_version_flag("--version", name + " " + version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Result<std::string> CommandLine::parse(std::vector<std::string> words, std::vector<std::string>& separated) {
  if (auto known = check_command(*app_, words); !known) return known.error();
  try {
    separated = take_separated(*app_, words);
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes the last word first
    return std::string();
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app_->exit(success, text, text);
    return text.str();
  } catch (const CLI::ParseError& error) {
    return Error{formatted("{} (see {} --help)", error.what(), full_name(command_named(*app_, words)))};
  }
}

}  // namespace kvrm::cli
