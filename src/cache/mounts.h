// Other names of a folder: a file system, or a part of it, may be mounted at several points.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvrm::cache {

struct Mount {
  std::string device;  // "major:minor"
  std::string root;  // the folder of the file system that is shown
  std::string point;  // where
};
// The text of /proc/self/mountinfo. What is no mount is left out.
std::vector<Mount> parse_mounts(std::string_view text);

// Where mounts show the folder, or a part of it, besides its own path, which has no links.
std::vector<std::string> names_elsewhere(const std::string& path, const std::vector<Mount>& mounts);
// The same of a folder that need not be there, with the mounts of now.
std::vector<std::string> names_elsewhere(const std::filesystem::path& folder);

}  // namespace kvrm::cache
