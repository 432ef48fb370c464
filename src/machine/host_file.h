// A regular file of the host that is read as a whole.
#pragma once

#include <optional>
#include <string>

#include "base/types.h"
#include "kvrm/result.h"

namespace kvrm {

class HostFile {
 public:
  static Result<HostFile> open(const std::string& path);
  HostFile(HostFile&& other) noexcept;
  HostFile& operator=(HostFile&&) = delete;
  ~HostFile();

  u64 size() const { return size_; }
  // As many bytes as that, or an error.
  std::optional<Error> read(u8* to) const;

 private:
  HostFile(std::string path, int file, u64 size);

  std::string path_;
  int file_;
  u64 size_;
};

}  // namespace kvrm
