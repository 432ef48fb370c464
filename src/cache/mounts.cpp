#include "cache/mounts.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace kvrm::cache {
namespace {

namespace fs = std::filesystem;

// Spaces and the like are three octal digits after a backslash.
std::string unescaped(const std::string& text) {
  const auto is_octal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || !is_octal(i + 1) || !is_octal(i + 2) || !is_octal(i + 3)) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

bool is_within(const std::string& path, const std::string& folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// A path below `from` as it is called below `to`.
std::string moved(const std::string& path, const std::string& from, const std::string& to) {
  const std::string rest = path.substr(from == "/" ? 0 : from.size());
  const std::string whole = (to == "/" ? "" : to) + (rest == "/" ? "" : rest);
  return whole.empty() ? "/" : whole;
}

// The mount that shows a path: of those at the same point, the last.
const Mount* mount_of(const std::string& path, const std::vector<Mount>& mounts) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts)
    if (is_within(path, mount.point) && (!found || mount.point.size() >= found->point.size())) found = &mount;
  return found;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    if (words >> id >> parent >> device >> root >> point) mounts.push_back({device, unescaped(root), unescaped(point)});
  }
  return mounts;
}

std::vector<std::string> names_elsewhere(const std::string& path, const std::vector<Mount>& mounts) {
  std::vector<std::string> names;
  const Mount* const own = mount_of(path, mounts);
  if (!own) return names;
  const std::string inside = moved(path, own->point, own->root);
  for (const Mount& mount : mounts) {
    if (mount.device != own->device) continue;
    const std::string name = is_within(inside, mount.root)   ? moved(inside, mount.root, mount.point)
                             : is_within(mount.root, inside) ? mount.point
                                                             : path;
    if (name != path && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> names_elsewhere(const fs::path& folder) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::error_code problem;
  const fs::path path = fs::weakly_canonical(folder, problem);
  return problem ? std::vector<std::string>() : names_elsewhere(path.string(), parse_mounts(text));
}

}  // namespace kvrm::cache
