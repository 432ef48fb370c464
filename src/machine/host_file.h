// A regular file of the host that is read as a whole.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/types.h"
#include "kvrm/result.h"
#include "linux/host_fd.h"

namespace kvrm {

class HostFile {
 public:
  static Result<HostFile> open(const std::string& path);

  u64 size() const { return size_; }
  linux_abi::HostFd release() && { return std::move(file_); }
  // As many bytes as that, or an error.
  std::optional<Error> read(u8* to) const;

 private:
  HostFile(std::string path, linux_abi::HostFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  linux_abi::HostFd file_;
  u64 size_ = 0;
};

}  // namespace kvrm
