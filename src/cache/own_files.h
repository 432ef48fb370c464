// Descriptors of folders and files that belong to the user alone.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

namespace kvrm::cache {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The folder, if it is a folder and not a link to one, of the effective user, and no other user may write there.
// Otherwise none, and why; no word if it is not there.
Descriptor open_own_folder(const std::filesystem::path& path, std::string& problem);
// Makes it and those above it first, for the user alone.
Descriptor make_own_folder(const std::filesystem::path& path);
// A regular file in there, under the same conditions; its size.
Descriptor open_own_file(const Descriptor& folder, const std::string& name, std::uint64_t& bytes);
// A new file that no other user can open: `name` and a random suffix, which is added to it.
Descriptor make_own_file(const Descriptor& folder, std::string& name);

// Whether one of two folders lies below the other, or both are the same. Names do not count, so that links and bind
// mounts of a whole folder are seen through. Of a folder that is not there, the one it would be made in counts.
bool folders_overlap(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace kvrm::cache
