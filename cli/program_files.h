// The programs of a fleet's inputs, opened when a job needs them. A guest may write below the root, so a file that is
// not the one it was when the fleet began is refused.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "kvrm/program_file.h"
#include "kvrm/result.h"

namespace kvrm::cli {

class ProgramFiles {
 public:
  // Before any guest runs.
  void remember(const std::string& path);
  Result<ProgramFilePointer> open(const std::string& path);

  // Of the files that are held open.
  std::size_t count() const { return open_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  void close_all();

 private:
  // Two files that agree in this are the same, unchanged: no guest can set the time of the last change.
  using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;
  static std::optional<Identity> identity_of(const struct stat& facts);

  std::map<std::string, std::optional<Identity>> known_;
  std::map<std::string, ProgramFilePointer> open_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kvrm::cli
