#include "machine/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kvrm {

Result<HostFile> HostFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  HostFile opened(path, linux_abi::HostFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  if (!opened.file_) return Error{path + ": " + std::strerror(errno)};
  struct stat facts{};
  if (::fstat(opened.file_.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{path + (S_ISDIR(facts.st_mode) ? ": is a folder, not a file" : ": is not a regular file")};
  }
  opened.size_ = static_cast<u64>(facts.st_size);
  return opened;
}

std::optional<Error> HostFile::read(u8* to) const {
  u64 done = 0;
  while (done < size_) {
    const ssize_t count = ::read(file_.get(), to + done, size_ - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{path_ + ": " + std::strerror(errno)};
    if (count == 0) return Error{path_ + ": became shorter while it was read"};
    done += static_cast<u64>(count);
  }
  return std::nullopt;
}

}  // namespace kvrm
