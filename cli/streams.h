// kvrm's standard streams. What it says on stderr is a courtesy: where it cannot be written, kvrm goes on without it.
// What it writes to stdout is a result: where it cannot be written, kvrm fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "formatted.h"
#include "kvrm/result.h"

namespace kvrm::cli {

// Opens /dev/null for those of the descriptors 0 to 2 that are closed, so that no other file gets their numbers. They
// still cannot be used: reading or writing them fails with EBADF. Once, before anything else is opened. False if there
// is no /dev/null.
bool occupy_closed_streams();
// Raises the soft limit on open descriptors to the hard one, where that is allowed: guests share them.
void raise_descriptor_limit();
// Whether a descriptor was closed when kvrm was started.
bool was_closed(int descriptor);

// 0, or the errno of what failed.
int write_all(int descriptor, std::string_view bytes);

// To stderr, at once and in one piece. Failures are ignored.
void say_text(std::string_view text);
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  say_text(formatted(format, std::forward<Arguments>(arguments)...));
}

// To stdout, through a buffer. Once something could not be written, nothing is: false.
bool print_text(std::string_view text);
template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(formatted(format, std::forward<Arguments>(arguments)...));
}
bool flush_output();
// At the very end: writes out what is left. The exit status, which is `status` unless stdout failed: then 125 and a
// message, or for a reader that went away 141 and silence, as if SIGPIPE had ended kvrm.
int finish_output(int status);

// All there is on a descriptor, up to a limit; more is an error. `name` is for messages.
Result<std::string> read_all(int descriptor, std::uint64_t most, const std::string& name);
// The same of a file of any kind; "-" means stdin.
Result<std::string> read_stream(const std::string& path, std::uint64_t most);
// All of stdin, for an option that gives it to several machines. Says so where a person has to type it.
Result<std::string> whole_stdin(const std::string& option);

}  // namespace kvrm::cli
