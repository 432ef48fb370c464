#include "cache/own_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <random>
#include <system_error>

namespace kvrm::cache {
namespace {

namespace fs = std::filesystem;

std::string text_of(int error) { return std::generic_category().message(error); }

// Why another user could change it; empty if none can.
std::string foreign(const struct stat& info) {
  if (info.st_uid != ::geteuid()) return "belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "can be written by others (chmod go-w)";
  return {};
}

struct Identity {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};
Identity identity_of(const Descriptor& file) {
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

Descriptor open_any_folder(int from, const char* name) {
  return Descriptor(::openat(from, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The folder, or the nearest above it that is there.
Descriptor nearest_folder(fs::path path, bool& is_itself) {
  std::error_code ignored;
  path = fs::absolute(path, ignored);
  for (is_itself = true;; is_itself = false) {
    Descriptor folder = open_any_folder(AT_FDCWD, path.c_str());
    if (folder || !path.has_relative_path()) return folder;
    path = path.parent_path();
  }
}

// Whether `wanted` is the folder or one above it.
bool lies_below(Descriptor folder, const Identity& wanted) {
  for (Identity here = identity_of(folder); folder;) {
    if (here == wanted) return true;
    folder = open_any_folder(folder.get(), "..");
    const Identity above = identity_of(folder);
    if (above == here) return false;  // the root
    here = above;
  }
  return false;
}

}  // namespace

Descriptor open_own_folder(const fs::path& path, std::string& problem) {
  problem.clear();
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!folder) {
    if (errno == ENOENT) return folder;
    const int error = errno;
    const bool is_link = ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
    problem = is_link ? "is a symbolic link" : text_of(error);
  } else {
    problem = ::fstat(folder.get(), &info) != 0 ? text_of(errno) : foreign(info);
  }
  return problem.empty() ? std::move(folder) : Descriptor();
}

Descriptor make_own_folder(const fs::path& path) {
  std::string problem;
  Descriptor folder = open_own_folder(path, problem);
  if (folder || !problem.empty()) return folder;
  fs::path so_far;
  for (const fs::path& part : path) {
    so_far /= part;
    if (::mkdir(so_far.c_str(), S_IRWXU) != 0 && errno != EEXIST) return {};
  }
  return open_own_folder(path, problem);
}

Descriptor open_own_file(const Descriptor& folder, const std::string& name, std::uint64_t& bytes) {
  // Not a pipe, which would make us wait.
  Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !foreign(info).empty()) return {};
  bytes = static_cast<std::uint64_t>(info.st_size);
  return file;
}

Descriptor make_own_file(const Descriptor& folder, std::string& name) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr int kTries = 100, kSuffix = 6;
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, sizeof kLetters - 2);
  for (int i = 0; i < kTries; ++i) {
    std::string with = name + ".";
    for (int k = 0; k < kSuffix; ++k) with += kLetters[letter(random)];
    Descriptor file(
        ::openat(folder.get(), with.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file && errno == EEXIST) continue;
    if (file) name = std::move(with);
    return file;
  }
  return {};
}

bool folders_overlap(const fs::path& one, const fs::path& other) {
  bool is_one = false, is_other = false;
  Descriptor first = nearest_folder(one, is_one), second = nearest_folder(other, is_other);
  if (!first || !second) return true;  // cannot be told
  const Identity a = identity_of(first), b = identity_of(second);
  // Two folders that both are to be made could become anything.
  return (is_other && lies_below(std::move(first), b)) || (is_one && lies_below(std::move(second), a));
}

}  // namespace kvrm::cache
