#include "kvrm/cache.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>

#include "cache/folder.h"

namespace kvrm {
namespace {

namespace fs = std::filesystem;

struct Kind {
  std::string_view name, prefix, purpose;
};
// As translator/region_store, translator/gpu_store and device/cuda/module_cache name their files.
constexpr std::array<Kind, 4> kKinds{{
    {"regions", "regions-", "translated code for the CPU device"},
    {"profile", "profile-", "profiles: code that later runs may translate"},
    {"gpu-regions", "gpu-regions-", "GPU kernels with translated code linked to them"},
    {"kernel", "kernel-sm_", "GPU kernels that the driver compiled"},
}};

// Whether a name ends as cache::Folder writes it: whole, or still with the random suffix of a file being written.
bool has_own_ending(std::string_view name) {
  constexpr std::size_t kSuffix = 7;  // ".XXXXXX"
  const auto whole = [](std::string_view text) { return text.ends_with(".bin") || text.ends_with(".cubin"); };
  if (whole(name)) return true;
  if (name.size() < kSuffix || name[name.size() - kSuffix] != '.') return false;
  for (const char c : name.substr(name.size() - kSuffix + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) return false;
  }
  return whole(name.substr(0, name.size() - kSuffix));
}

CacheKind* kind_of(CacheContents& contents, const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code gone;
  if (!fs::is_regular_file(entry.symlink_status(gone)) || !has_own_ending(name)) return nullptr;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (name.starts_with(kKinds[i].prefix)) return &contents.kinds[i];
  }
  return nullptr;
}

// Calls `take` for each of kvrm's files; false: it is not counted.
Result<CacheContents> walk(const std::function<bool(const fs::path&)>& take) {
  const fs::path folder = cache::Folder::of_user().path();
  if (folder.empty()) return Error{"there is no cache: neither XDG_CACHE_HOME nor HOME names a folder"};
  CacheContents contents{folder.string(), {}, 0};
  for (const Kind& kind : kKinds) {
    contents.kinds.push_back({std::string(kind.name), std::string(kind.purpose), 0, 0, {}});
  }
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    CacheKind* kind = kind_of(contents, *entry);
    if (!kind) {
      ++contents.other_files;
      continue;
    }
    std::error_code gone;  // another process may have removed it
    const std::uint64_t size = entry->file_size(gone);
    const auto written = gone ? fs::file_time_type() : entry->last_write_time(gone);
    if (gone || !take(entry->path())) continue;
    ++kind->files;
    kind->bytes += size;
    kind->newest = std::max(kind->newest, std::chrono::time_point_cast<std::chrono::system_clock::duration>(
                                              std::chrono::file_clock::to_sys(written)));
  }
  if (problem && problem != std::errc::no_such_file_or_directory) {
    return Error{folder.string() + ": " + problem.message()};
  }
  return contents;
}

}  // namespace

std::string cache_folder() { return cache::Folder::of_user().path().string(); }

Result<CacheContents> list_cache() {
  return walk([](const fs::path&) { return true; });
}

Result<CacheContents> clear_cache() {
  std::string first_problem;
  auto cleared = walk([&](const fs::path& path) {
    std::error_code problem;
    const bool removed = fs::remove(path, problem);
    if (problem && first_problem.empty()) first_problem = path.string() + ": " + problem.message();
    return removed;
  });
  if (cleared && !first_problem.empty()) return Error{first_problem};
  return cleared;
}

}  // namespace kvrm
