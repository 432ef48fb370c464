// A folder of files that can be made again: compiled kernels, translated regions. Whatever is wrong with it is as if
// nothing were there.
//
// What is found is run, so the folder and its files must be the user's own: no symbolic links, owned by the effective
// user, writable by no other user. All of that is asked of open descriptors, not of names.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kvrm::cache {

// It finds other contents and damage, not an attacker: the cache is the user's own folder.
std::uint64_t content_hash(std::span<const std::byte> bytes);
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t seed);

// How much of one kind of files is kept; the oldest go first.
struct Limits {
  std::string prefix;  // the kind: how their names begin
  std::size_t files = 8;
  std::uint64_t bytes = std::uint64_t{1} << 30;
};

class Folder {
 public:
  // No folder: finds nothing, stores nothing.
  Folder() = default;
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}
  // $XDG_CACHE_HOME/kvrm or ~/.cache/kvrm.
  static Folder of_user();
  // Every folder that some run of the user's may take its code from, by all names that mounts give it now.
  static std::vector<std::string> trusted();

  const std::filesystem::path& path() const { return path_; }
  // Why the folder is not used, in one line; empty if it is, or is not there yet.
  std::string problem() const;
  // Whether the folder, by any of its names, lies below `other`, or `other` below it: then a guest that may write there
  // may write here.
  bool overlaps(const std::filesystem::path& other) const;

  // The contents of a file that was stored under this name for exactly this key, if the file is whole.
  std::optional<std::vector<std::byte>> find(const std::string& name, std::span<const std::byte> key) const;
  // Other processes see the whole file or none. False if it could not be written. Older files of the kind may go.
  bool store(const std::string& name, std::span<const std::byte> key, std::span<const std::byte> contents,
             const Limits& limits) const;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::chrono::system_clock::time_point written;
    bool is_regular = false;  // otherwise a folder, a link, ...
  };
  // All there are; none if the folder is not used.
  std::vector<File> files() const;
  // Whether it was there, and why it still is.
  bool remove(const std::string& name, std::error_code& problem) const;

 private:
  std::filesystem::path path_;
};

}  // namespace kvrm::cache
