#include "machine/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kvrm {

HostFile::HostFile(std::string path, int file, u64 size) : path_(std::move(path)), file_(file), size_(size) {}
HostFile::HostFile(HostFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}
HostFile::~HostFile() {
  if (file_ >= 0) ::close(file_);
}

Result<HostFile> HostFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Error{path + ": " + std::strerror(errno)};
  HostFile opened(path, file, 0);
  struct stat facts{};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{path + (S_ISDIR(facts.st_mode) ? ": is a folder, not a file" : ": is not a regular file")};
  }
  opened.size_ = static_cast<u64>(facts.st_size);
  return opened;
}

std::optional<Error> HostFile::read(u8* to) const {
  u64 done = 0;
  while (done < size_) {
    const ssize_t count = ::read(file_, to + done, size_ - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{path_ + ": " + std::strerror(errno)};
    if (count == 0) return Error{path_ + ": became shorter while it was read"};
    done += static_cast<u64>(count);
  }
  return std::nullopt;
}

}  // namespace kvrm
