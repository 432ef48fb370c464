#include "cache/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>

#include "cache/mounts.h"
#include "cache/own_files.h"

namespace kvrm::cache {
namespace {

namespace fs = std::filesystem;

// What stands before the contents in a file. All fields are of the machine that wrote it, which is the one that reads
// it.
struct Header {
  char magic[8] = {'K', 'V', 'R', 'M', 'F', 'I', 'L', '2'};
  std::uint64_t key = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 32);

Header header_for(std::span<const std::byte> key, std::span<const std::byte> contents) {
  Header header;
  header.key = content_hash(key);
  header.size = contents.size();
  header.checksum = content_hash(contents);
  return header;
}

bool write_all(const Descriptor& file, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t count = ::write(file.get(), next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool read_all(const Descriptor& file, void* data, std::size_t size) {
  char* next = static_cast<char*>(data);
  while (size != 0) {
    const ssize_t count = ::read(file.get(), next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

std::vector<Folder::File> list(const Descriptor& folder) {
  std::vector<Folder::File> files;
  // The stream closes its descriptor, and both share a position.
  Descriptor own(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = own ? ::fdopendir(own.get()) : nullptr;
  if (!stream) return files;
  (void)own.release();
  while (const dirent* const entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    struct stat info{};
    if (name == "." || name == ".." || ::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const auto since_epoch = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
    const auto written = std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch);
    files.push_back({name, static_cast<std::uint64_t>(info.st_size), std::chrono::system_clock::time_point(written),
                     S_ISREG(info.st_mode)});
  }
  ::closedir(stream);
  return files;
}

void remove_old(const Descriptor& folder, const std::string& newest, const Limits& limits) {
  std::vector<Folder::File> files = list(folder);
  std::erase_if(files,
                [&](const Folder::File& file) { return !file.is_regular || !file.name.starts_with(limits.prefix); });
  std::ranges::sort(files, [&](const Folder::File& a, const Folder::File& b) {
    const bool a_is_newest = a.name == newest, b_is_newest = b.name == newest;
    return a_is_newest != b_is_newest ? a_is_newest : std::tie(a.written, a.name) > std::tie(b.written, b.name);
  });
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const Folder::File& file : files) {
    bytes += file.bytes;
    if (++count > limits.files || bytes > limits.bytes) {
      if (file.name != newest) ::unlinkat(folder.get(), file.name.c_str(), 0);
    }
  }
}

}  // namespace

// FNV-1a over words of eight bytes, then the rest.
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t hash = seed ^ bytes.size();
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
  }
  for (; at < bytes.size(); ++at) mix(static_cast<std::uint64_t>(bytes[at]));
  return hash;
}

std::uint64_t content_hash(std::span<const std::byte> bytes) { return content_hash(bytes, 0xcbf29ce484222325); }

Folder Folder::of_user() {
  // Relative paths are to be ignored, says the XDG specification.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return Folder(fs::path(cache) / "kvrm");
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return Folder(fs::path(home) / ".cache" / "kvrm");
  return {};
}

std::vector<std::string> Folder::trusted() {
  std::vector<std::string> folders;
  if (const Folder used = of_user(); !used.path().empty()) folders.push_back(used.path().string());
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') folders.push_back((fs::path(home) / ".cache" / "kvrm").string());
  for (std::size_t i = 0, own = folders.size(); i < own; ++i)
    for (std::string& name : names_elsewhere(fs::path(folders[i]))) folders.push_back(std::move(name));
  return folders;
}

std::string Folder::problem() const {
  std::string problem;
  if (!path_.empty()) (void)open_own_folder(path_, problem);
  return problem.empty() ? problem : path_.string() + " " + problem;
}

bool Folder::overlaps(const fs::path& other) const {
  if (path_.empty()) return false;
  if (folders_overlap(path_, other)) return true;
  const auto names = names_elsewhere(path_);
  return std::ranges::any_of(names, [&](const std::string& name) { return folders_overlap(name, other); });
}

std::optional<std::vector<std::byte>> Folder::find(const std::string& name, std::span<const std::byte> key) const {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  std::string problem;
  const Descriptor folder = path_.empty() ? Descriptor() : open_own_folder(path_, problem);
  if (!folder) return std::nullopt;
  std::uint64_t size = 0;
  const Descriptor file = open_own_file(folder, name, size);
  Header header;
  if (!file || !read_all(file, &header, sizeof header)) return std::nullopt;
  if (size > kMostBytes || size != sizeof header + header.size || header.size == 0) return std::nullopt;
  std::vector<std::byte> contents(header.size);
  if (!read_all(file, contents.data(), contents.size())) return std::nullopt;
  const Header expected = header_for(key, contents);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  return contents;
}

bool Folder::store(const std::string& name, std::span<const std::byte> key, std::span<const std::byte> contents,
                   const Limits& limits) const {
  if (path_.empty() || contents.empty()) return false;
  const Descriptor folder = make_own_folder(path_);
  if (!folder) return false;
  std::string temporary = name;
  Descriptor file = make_own_file(folder, temporary);
  if (!file) return false;
  const Header header = header_for(key, contents);
  bool whole = write_all(file, &header, sizeof header) && write_all(file, contents.data(), contents.size());
  whole = ::close(file.release()) == 0 && whole;
  if (!whole || ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    return false;
  }
  remove_old(folder, name, limits);
  return true;
}

std::vector<Folder::File> Folder::files() const {
  std::string problem;
  const Descriptor folder = path_.empty() ? Descriptor() : open_own_folder(path_, problem);
  return folder ? list(folder) : std::vector<File>();
}

bool Folder::remove(const std::string& name, std::error_code& problem) const {
  problem.clear();
  std::string why;
  const Descriptor folder = open_own_folder(path_, why);
  if (!folder) return false;
  if (::unlinkat(folder.get(), name.c_str(), 0) == 0) return true;
  if (errno != ENOENT) problem = std::error_code(errno, std::generic_category());
  return false;
}

}  // namespace kvrm::cache
