// Files of the host that are read as a whole, and the parts of a ProgramFile.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/types.h"
#include "kvrm/program_file.h"
#include "kvrm/result.h"
#include "linux/exe_file.h"
#include "linux/host_fd.h"
#include "memory/image.h"

namespace kvrm {

// An open regular file.
class HostFile {
 public:
  static Result<HostFile> open(const std::string& path);

  u64 size() const { return size_; }
  linux_abi::HostFd release() && { return std::move(file_); }
  // Reads size() bytes, or returns an error.
  std::optional<Error> read(u8* to) const;

 private:
  HostFile(std::string path, linux_abi::HostFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  linux_abi::HostFd file_;
  u64 size_ = 0;
};

struct __attribute__((visibility("hidden"))) ProgramFile::Parts {
  std::string path;
  std::shared_ptr<const memory::Image> image;
  linux_abi::ExePointer exe;
};

}  // namespace kvrm
