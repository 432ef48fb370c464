// A folder of files that can be made again: compiled kernels, translated regions. Whatever is wrong with it is as if
// nothing were there.
#pragma once

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

  const std::filesystem::path& path() const { return path_; }
  // The contents of a file that was stored under this name for exactly this key, if the file is whole.
  std::optional<std::vector<std::byte>> find(const std::string& name, std::span<const std::byte> key) const;
  // Other processes see the whole file or none. False if it could not be written. Older files of the kind may go.
  bool store(const std::string& name, std::span<const std::byte> key, std::span<const std::byte> contents,
             const Limits& limits) const;

 private:
  void remove_old(const std::filesystem::path& newest, const Limits& limits) const;
  std::filesystem::path path_;
};

}  // namespace kvrm::cache
