#include "cache/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <tuple>

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

bool write_all(int file, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t count = ::write(file, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
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

std::optional<std::vector<std::byte>> Folder::find(const std::string& name, std::span<const std::byte> key) const {
  if (path_.empty()) return std::nullopt;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  std::error_code problem;
  const fs::path path = path_ / name;
  // Not a pipe, which would make us wait, nor something absurd.
  if (!fs::is_regular_file(path, problem)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  const std::uint64_t size = fs::file_size(path, problem);
  if (problem || size > kMostBytes || size != sizeof header + header.size || header.size == 0) return std::nullopt;
  std::vector<std::byte> contents(header.size);
  if (!file.read(reinterpret_cast<char*>(contents.data()), static_cast<std::streamsize>(contents.size()))) {
    return std::nullopt;
  }
  const Header expected = header_for(key, contents);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  return contents;
}

bool Folder::store(const std::string& name, std::span<const std::byte> key, std::span<const std::byte> contents,
                   const Limits& limits) const {
  if (path_.empty() || contents.empty()) return false;
  std::error_code problem;
  fs::create_directories(path_, problem);
  if (problem) return false;
  const fs::path path = path_ / name;
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return false;
  const Header header = header_for(key, contents);
  bool whole = write_all(file, &header, sizeof header) && write_all(file, contents.data(), contents.size());
  whole = ::close(file) == 0 && whole;
  if (whole) fs::rename(temporary, path, problem);
  if (!whole || problem) {
    fs::remove(temporary, problem);
    return false;
  }
  remove_old(path, limits);
  return true;
}

void Folder::remove_old(const fs::path& newest, const Limits& limits) const {
  std::error_code problem;
  std::vector<std::tuple<fs::file_time_type, std::uint64_t, fs::path>> files;
  for (fs::directory_iterator entry(path_, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(limits.prefix) || entry->path() == newest) continue;
    std::error_code gone;
    const auto time = fs::last_write_time(entry->path(), gone);
    const std::uint64_t size = gone ? 0 : fs::file_size(entry->path(), gone);
    if (!gone) files.emplace_back(time, size, entry->path());
  }
  std::ranges::sort(files, std::greater<>());
  std::size_t count = 1;
  std::uint64_t bytes = fs::file_size(newest, problem);
  for (const auto& [time, size, path] : files) {
    bytes += size;
    if (++count > limits.files || bytes > limits.bytes) fs::remove(path, problem);
  }
}

}  // namespace kvrm::cache
