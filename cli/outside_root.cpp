#include "outside_root.h"

#include <filesystem>
#include <system_error>

namespace kvrm::cli {
namespace {

namespace fs = std::filesystem;

// Follows a link to a file that is not there yet, as opening it to write would.
fs::path follow_dangling(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error) && !fs::exists(path, error); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

// Compares files, not names: a folder may be mounted twice.
bool lies_below(fs::path path, const fs::path& folder) {
  for (;;) {
    std::error_code error;
    if (fs::equivalent(path, folder, error)) return true;
    if (!path.has_relative_path()) return false;
    path = path.parent_path();
  }
}

}  // namespace

Result<std::string> file_outside_root(const std::string& option, const std::string& path, const std::string& root) {
  std::error_code error;
  const fs::path full = fs::weakly_canonical(fs::absolute(follow_dangling(path), error), error);
  // An open pipe, /dev/fd/63, has no name.
  if (error) return path;
  // Nor may its name lead through the root: guests of earlier runs may have made links there.
  const auto is_reached = [&] { return lies_below(full, root) || lies_below(fs::absolute(path, error), root); };
  if (!root.empty() && !fs::is_character_file(full, error) && is_reached()) {
    return Error{option + " " + path + " lies below --root " + root + ", where a guest could change it: move it out"};
  }
  return full.string();
}

Result<std::string> folder_outside_root(const std::string& option, const std::string& path, const std::string& root) {
  auto full = file_outside_root(option, path, root);
  if (!full || root.empty()) return full;
  std::error_code error;
  const fs::path top = fs::weakly_canonical(fs::absolute(root, error), error);
  if (!error && lies_below(top, *full)) {
    return Error{"--root " + root + " lies below " + option + " " + path + ": choose folders beside each other"};
  }
  return full;
}

}  // namespace kvrm::cli
