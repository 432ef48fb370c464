#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "command_line.h"
#include "commands.h"
#include "kvrm/machine.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

void describe(CLI::App& app) {
  app.name("kvrm");
  app.set_version_flag("--version", std::string("kvrm ") + std::string(version()));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  kvrm run hello-arm64                        run a program\n"
      "  kvrm run --root data busybox ls -l /        let it see the folder data as /\n"
      "  kvrm run --stats=json prog 2>stats.json     measure it\n"
      "  kvrm fleet --stdin-dir data --out r.jsonl prog   run it over many inputs\n"
      "  kvrm run --dispatch neural --stats prog     let a network route every instruction\n"
      "  kvrm models verify dispatch                 prove that it is always right\n"
      "  kvrm disasm --word d503201f                 what does this word mean?\n\n"
      "kvrm help COMMAND explains a command.");
}

// `kvrm help COMMAND` is `kvrm COMMAND --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

int parse_and_run(int argc, char** argv) {
  std::vector<std::string> words = words_of(argc, argv), separated;
  Command chosen;
  CLI::App app{"KVRM: an exact ARM64 machine. Runs static ARM64 Linux programs, instruction by instruction."};
  describe(app);
  add_run(app, separated, chosen);
  add_fleet(app, separated, chosen);
  add_info(app, chosen);
  add_disasm(app, chosen);
  add_models(app, chosen);
  add_cache(app, chosen);
  app.add_subcommand("help", "Explain a command: kvrm help [COMMAND]");
  try {
    if (auto known = check_command(app, words); !known) return host_error(known.error().message);
    separated = take_separated(app, words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the last word first
    return chosen();
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    const int status = app.exit(success, text, text);
    print_text(text.str());
    return status;
  } catch (const CLI::ParseError& error) {
    return host_error(fmt::format("{} (see {} --help)", error.what(), full_name(command_named(app, words))));
  } catch (const std::exception& error) {
    return host_error(error.what());
  }
}

}  // namespace

int host_error(const std::string& message) {
  // One line, whatever the message holds.
  std::string line = message;
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  say("kvrm: {}\n", line);
  return kHostError;
}

}  // namespace kvrm::cli

int main(int argc, char** argv) {
  // A reader that goes away is the guest's business: it gets EPIPE and its own SIGPIPE.
  std::signal(SIGPIPE, SIG_IGN);
  if (!kvrm::cli::occupy_closed_streams()) return kvrm::cli::kHostError;
  kvrm::cli::raise_descriptor_limit();
  const int status = kvrm::cli::finish_output(kvrm::cli::parse_and_run(argc, argv));
  std::fflush(nullptr);
  std::_Exit(status);  // a compiler may still be at work for a program that has ended: nobody waits for it
}
