#include "inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "formatted.h"
#include "json_text.h"
#include "outside_root.h"
#include "streams.h"
#include "words.h"

namespace kvrm::cli {
namespace {

Result<std::vector<std::string>> lines_of(const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  auto bytes = read_stream(path, kMost);
  if (!bytes) return bytes.error();
  std::vector<std::string> lines;
  for (auto at = bytes->begin(); at != bytes->end();) {
    const auto end = std::find(at, bytes->end(), '\n');
    lines.emplace_back(at, end);
    at = end == bytes->end() ? end : end + 1;
  }
  return lines;
}

Result<std::vector<Input>> list_files(const std::string& given, const std::vector<std::string>& args,
                                      const std::string& root) {
  auto full = folder_outside_root("--stdin-dir", given, root);
  if (!full) return full.error();
  const std::string& folder = *full;
  std::vector<Input> inputs;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file()) continue;
    if (at->is_symlink()) return Error{at->path().string() + ": is a symbolic link; --stdin-dir takes regular files"};
    inputs.push_back({valid_utf8(at->path().filename().string()), {}, args, at->path().string(), {}});
  }
  if (error) return Error{given + ": " + error.message()};
  std::sort(inputs.begin(), inputs.end(), [](const Input& a, const Input& b) { return a.stdin_file < b.stdin_file; });
  return inputs;
}

Result<std::vector<Input>> list_lines(const std::string& path, const std::vector<std::string>& args) {
  auto lines = lines_of(path);
  if (!lines) return lines.error();
  std::vector<Input> inputs;
  for (const std::string& line : *lines) {
    inputs.push_back({formatted("line {}", inputs.size() + 1), {}, args, {}, line + "\n"});
  }
  return inputs;
}

// One line of --args-file or --programs.
Result<Input> parse_line(const std::string& line, const std::vector<std::string>& args, const std::string& root,
                         bool has_program) {
  auto words = split_words(line);
  if (!words) return words.error();
  Input input{valid_utf8(line), {}, args, {}, {}};
  for (Word& word : *words) {
    if (has_program && input.program.empty()) {
      input.program = std::move(word.text);
    } else if (has_program && !word.quoted && word.text.starts_with("<")) {
      if (word.text.size() == 1 || !input.stdin_file.empty()) return Error{"one <FILE, without a blank"};
      auto full = file_outside_root("stdin", word.text.substr(1), root);
      if (!full) return full.error();
      input.stdin_file = std::move(*full);
    } else {
      input.args.push_back(std::move(word.text));
    }
  }
  if (has_program && input.program.empty()) return Error{"no program"};
  return input;
}

Result<std::vector<Input>> list_commands(const std::string& path, const std::vector<std::string>& args,
                                         const std::string& root, bool has_program) {
  auto lines = lines_of(path);
  if (!lines) return lines.error();
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const std::string& line = (*lines)[i];
    if (has_program && (line.find_first_not_of(" \t") == std::string::npos || line.starts_with("#"))) continue;
    auto input = parse_line(line, args, root, has_program);
    if (!input) return Error{formatted("{}:{}: {}", path, i + 1, input.error().message)};
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

}  // namespace

bool comes_once(const InputArguments& arguments) {
  for (const std::string* path : {&arguments.stdin_lines, &arguments.args_file, &arguments.programs}) {
    std::error_code error;
    if (*path == "-" || (std::filesystem::exists(*path, error) && !std::filesystem::is_regular_file(*path, error)))
      return true;
  }
  return false;
}

Result<std::vector<Input>> list_inputs(const InputArguments& arguments, const std::vector<std::string>& args,
                                       const std::string& root) {
  const auto given = !arguments.stdin_dir.empty() + !arguments.stdin_lines.empty() + !arguments.args_file.empty() +
                     !arguments.programs.empty();
  if (given != 1) return Error{"give one of --stdin-dir, --stdin-lines, --args-file and --programs"};
  if (!arguments.stdin_dir.empty()) return list_files(arguments.stdin_dir, args, root);
  if (!arguments.stdin_lines.empty()) return list_lines(arguments.stdin_lines, args);
  if (!arguments.args_file.empty()) return list_commands(arguments.args_file, args, root, false);
  return list_commands(arguments.programs, args, root, true);
}

Result<std::string> read_input(const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ELOOP) return Error{path + ": is a symbolic link"};
  if (file < 0) return Error{path + ": " + std::strerror(errno)};
  struct stat facts{};
  const bool is_regular = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  auto bytes = is_regular ? read_all(file, kMost, path) : Error{path + ": is not a regular file"};
  ::close(file);
  return bytes;
}

Result<Job> make_job(const Input& input, std::uint64_t index, ProgramFiles& programs) {
  Job job{index, input.program, input.args, nullptr};
  if (!input.program.empty()) {
    auto file = programs.open(input.program);
    if (!file) return file.error();
    job.file = std::move(*file);
  }
  if (!input.stdin_file.empty()) {
    auto bytes = read_input(input.stdin_file);
    if (!bytes) return bytes.error();
    job.input = std::make_shared<const std::string>(std::move(*bytes));
  } else if (!input.stdin_text.empty()) {
    job.input = std::make_shared<const std::string>(input.stdin_text);
  }
  return job;
}

}  // namespace kvrm::cli
