#include "linux/file_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "linux/open_flags.h"

namespace kvrm::linux_abi {

OpenFile::~OpenFile() {
  if (!borrowed && host_fd >= 0) ::close(host_fd);
  if (open_files) --*open_files;
}

std::shared_ptr<OpenFile> FileTable::make(int host_fd) {
  auto file = std::make_shared<OpenFile>();
  file->host_fd = host_fd;
  file->open_files = open_files_;
  ++*open_files_;
  return file;
}

std::shared_ptr<OpenFile> FileTable::get(u64 fd) const {
  // A descriptor is an int: the upper half of the register does not count.
  fd &= 0xffffffff;
  return fd < entries_.size() ? entries_[fd].file : nullptr;
}

FileTable::Entry* FileTable::entry(u64 fd) {
  fd &= 0xffffffff;
  return fd < entries_.size() && entries_[fd].file ? &entries_[fd] : nullptr;
}

i64 FileTable::add(std::shared_ptr<OpenFile> file, bool close_on_exec, u64 lowest) {
  for (u64 fd = lowest; fd < limit_; ++fd) {
    if (fd < entries_.size() && entries_[fd].file) continue;
    put(fd, std::move(file), close_on_exec);
    return i64(fd);
  }
  return -EMFILE;
}

void FileTable::put(u64 fd, std::shared_ptr<OpenFile> file, bool close_on_exec) {
  if (fd >= entries_.size()) entries_.resize(fd + 1);
  entries_[fd] = {std::move(file), close_on_exec};
}

bool FileTable::close(u64 fd) {
  Entry* found = entry(fd);
  if (!found) return false;
  *found = {};
  return true;
}

std::shared_ptr<OpenFile> borrow_host_file(int host_fd) {
  struct stat info{};
  if (host_fd < 0 || ::fstat(host_fd, &info) != 0) return nullptr;
  auto file = std::make_shared<OpenFile>();
  file->host_fd = host_fd;
  file->borrowed = true;
  file->kind = S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode) ? OpenFile::Kind::kFile
                                                                                       : OpenFile::Kind::kStream;
  // Whether the host's descriptor blocks is the host's affair; the guest's begins as blocking.
  file->flags = guest_open_flags(::fcntl(host_fd, F_GETFL)) & ~u32{kOpenNonblock};
  return file;
}

}  // namespace kvrm::linux_abi
