#include "linux/exe_file.h"

#include <fcntl.h>

#include <utility>

#include "linux/sandbox.h"

namespace kvrm::linux_abi {

ExePointer make_exe_file(HostFd file) {
  if (!file) return nullptr;
  std::string name = link_target(host_name(file.get()));
  return std::make_shared<const ExeFile>(std::move(file), std::move(name));
}

ExePointer open_exe_file(const std::string& path) {
  return make_exe_file(HostFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
}

}  // namespace kvrm::linux_abi
