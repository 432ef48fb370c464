#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "command_line.h"
#include "commands.h"
#include "kvrm/machine.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

void add_commands(CommandSpec program, const std::vector<std::string>& separated, Command& chosen) {
  add_run(program, separated, chosen);
  add_fleet(program, separated, chosen);
  add_loops(program, separated, chosen);
  add_info(program, chosen);
  add_disasm(program, chosen);
  add_symbols(program, chosen);
  add_models(program, separated, chosen);
  add_cache(program, chosen);
  program.add_command("help", "Explain a command: kvrm help [COMMAND]");
  // Last: a command that has no footer would inherit it.
  program.footer(
      "Examples:\n"
      "  kvrm run hello-arm64                        run a program\n"
      "  kvrm run --root data busybox ls -l /        let it see the folder data as /\n"
      "  kvrm run --stats=json prog 2>stats.json     measure it\n"
      "  kvrm fleet --stdin-dir data --out r.jsonl prog   run it over many inputs\n"
      "  kvrm run --dispatch neural --stats prog     let a network route every instruction\n"
      "  kvrm models verify dispatch                 prove that it is always right\n"
      "  kvrm disasm --word d503201f                 what does this word mean?\n"
      "  kvrm symbols stripped-program               what are its routines called?\n\n"
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
  std::vector<std::string> separated;
  Command chosen;
  CommandLine line("kvrm",
                   "KVRM: an exact ARM64 machine. Runs static ARM64 Linux programs, instruction by instruction.",
                   std::string(version()));
  try {
    add_commands(line.program(), separated, chosen);
    const auto text = line.parse(words_of(argc, argv), separated);
    if (!text) return host_error(text.error().message);
    if (chosen) return chosen();
    print_text(text.value());
    return 0;
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
  std::_Exit(status);  // without waiting for a compiler that still works for a program that has ended
}
