// kvrm's command line: the commands, their options, and the words that name them. CLI11 does the parsing. Only
// command_line.cpp includes it, because that header takes longer to compile than any command.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kvrm/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kvrm::cli {

// A declared option, to say more about it.
class OptionSpec {
 public:
  explicit OptionSpec(CLI::Option* option) : option_(option) {}
  OptionSpec& required();
  OptionSpec& one_of(const std::vector<std::string>& values);
  // --help shows the value that the variable has now, or the given one.
  OptionSpec& show_default();
  OptionSpec& show_default(const std::string& text);

 private:
  CLI::Option* option_;
};

// A handle on the program or on one command. Variables that options write must outlive the parsing.
class CommandSpec {
 public:
  explicit CommandSpec(CLI::App* app) : app_(app) {}

  CommandSpec add_command(const std::string& name, const std::string& purpose) const;
  void needs_command() const;  // one of the commands below this one must be named
  void takes_guest() const;  // the first word that is no option begins the guest's own words
  void footer(const std::string& text) const;
  void on_parsed(std::function<void()> call) const;

  // A name without dashes is a positional argument.
  OptionSpec option(const std::string& name, std::string& value, const std::string& help) const;
  // Takes several words.
  OptionSpec option(const std::string& name, std::vector<std::string>& values, const std::string& help) const;
  // Takes one word each time that it is given.
  OptionSpec repeated(const std::string& name, std::vector<std::string>& values, const std::string& help) const;
  OptionSpec flag(const std::string& name, bool& value, const std::string& help) const;
  // "--name{text}": --name alone means --name=text.
  OptionSpec flag(const std::string& name, std::string& value, const std::string& help) const;

  // After parsing, of a command that takes a guest: the guest's program and arguments, which are the words that the
  // parser left, or those that came after `--`. The error is an unknown option.
  Result<std::vector<std::string>> guest_command(const std::vector<std::string>& separated) const;

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& purpose, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CommandSpec program() const { return CommandSpec(app_.get()); }
  // The value is what --help or --version print, or nothing once a command is parsed. The error is one line.
  // `separated` receives the words after a `--` that ends kvrm's own options.
  Result<std::string> parse(std::vector<std::string> words, std::vector<std::string>& separated);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace kvrm::cli
