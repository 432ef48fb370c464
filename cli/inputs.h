// The inputs of a fleet: they are listed at once; their bytes are read when their job is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvrm/jobs.h"
#include "kvrm/result.h"
#include "program_files.h"

namespace kvrm::cli {

struct InputArguments {
  std::string stdin_dir;    // a file each
  std::string stdin_lines;  // a line each; this file and the next two may be "-" (stdin) or a pipe
  std::string args_file;    // a line of arguments each
  std::string programs;     // a line each: program, arguments, <stdin-file
};

struct Input {
  std::string name;               // valid UTF-8
  std::string program;            // empty: the fleet's
  std::vector<std::string> args;  // all of them
  std::string stdin_file;         // read when the job is made
  std::string stdin_text;
};

// Whether the list is read from stdin ("-") or a pipe: only one process can.
bool comes_once(const InputArguments& arguments);

// Exactly one of the four must be given. `args`: the fleet's own arguments, which come first. Files that are read later
// must not lie below the root.
Result<std::vector<Input>> list_inputs(const InputArguments& arguments, const std::vector<std::string>& args,
                                       const std::string& root);

// All of a regular file. A link is an error: the name was resolved before any guest ran.
Result<std::string> read_input(const std::string& path);

Result<Job> make_job(const Input& input, std::uint64_t index, ProgramFiles& programs);

}  // namespace kvrm::cli
