#include <fmt/core.h>

#include <csignal>

#include "commands.h"
#include "kvrm/machine.h"

int main(int argc, char** argv) {
  // A reader that goes away is the guest's business: it gets EPIPE and its own SIGPIPE.
  std::signal(SIGPIPE, SIG_IGN);

  CLI::App app{"KVRM: an exact ARM64 machine. Runs static ARM64 Linux programs, instruction by instruction."};
  app.name("kvrm");
  app.set_version_flag("--version", std::string("kvrm ") + std::string(kvrm::version()));
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
      "kvrm COMMAND --help explains a command.");
  kvrm::cli::Command chosen;
  kvrm::cli::add_run(app, chosen);
  kvrm::cli::add_fleet(app, chosen);
  kvrm::cli::add_info(app, chosen);
  kvrm::cli::add_disasm(app, chosen);
  kvrm::cli::add_models(app, chosen);
  try {
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return kvrm::cli::host_error(fmt::format("{} (try kvrm --help)", error.what()));
  } catch (const std::exception& error) {
    return kvrm::cli::host_error(error.what());
  }
}

int kvrm::cli::host_error(const std::string& message) {
  // One line, whatever the message holds.
  std::string line = message;
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  fmt::print(stderr, "kvrm: {}\n", line);
  return kHostError;
}
