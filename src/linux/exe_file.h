// The program's own file, as /proc/self/exe serves it: opened once and shared by all processes that run it. A guest
// that may write below the root can make the file's name mean another file.
#pragma once

#include <memory>
#include <string>

#include "linux/host_fd.h"

namespace kvrm::linux_abi {

struct ExeFile {
  HostFd file;       // read only
  std::string name;  // the full host path when it was opened
};
using ExePointer = std::shared_ptr<const ExeFile>;

// Null if the descriptor is none.
ExePointer make_exe_file(HostFd file);
// Null if there is no such file.
ExePointer open_exe_file(const std::string& path);

}  // namespace kvrm::linux_abi
