// A host file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace kvrm::linux_abi {

class HostFd {
 public:
  HostFd() = default;
  explicit HostFd(int fd) : fd_(fd) {}
  HostFd(HostFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HostFd& operator=(HostFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~HostFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace kvrm::linux_abi
