#include "kvrm/cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string_view>
#include <system_error>

#include "cache/folder.h"
#include "machine/cache_guard.h"

namespace kvrm {
namespace {

struct Kind {
  std::string_view name, prefix, purpose;
};
// As translator/region_store, translator/gpu_store, backend/cuda/module_cache and machine/models name their files.
constexpr std::array<Kind, 5> kKinds{{
    {"regions", "regions-", "translated code for the CPU device"},
    {"profile", "profile-", "profiles: code that later runs may translate"},
    {"gpu-regions", "gpu-regions-", "GPU kernels with translated code linked to them"},
    {"kernel", "kernel-sm_", "GPU kernels that the driver compiled"},
    {"proof", "proof-", "verifications of weights that passed"},
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

CacheKind* kind_of(CacheContents& contents, const cache::Folder::File& file) {
  if (!file.is_regular || !has_own_ending(file.name)) return nullptr;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (file.name.starts_with(kKinds[i].prefix)) return &contents.kinds[i];
  }
  return nullptr;
}

// Calls `take` for each of kvrm's files; false: it is not counted.
Result<CacheContents> walk(const std::function<bool(const cache::Folder&, const std::string& name)>& take) {
  const cache::Folder folder = cache::Folder::of_user();
  if (folder.path().empty()) return Error{"there is no cache: neither XDG_CACHE_HOME nor HOME names a folder"};
  if (const std::string problem = folder.problem(); !problem.empty()) return Error{problem + ": it is not used"};
  CacheContents contents{folder.path().string(), {}, 0};
  for (const Kind& kind : kKinds) {
    contents.kinds.push_back({std::string(kind.name), std::string(kind.purpose), 0, 0, {}});
  }
  for (const cache::Folder::File& file : folder.files()) {
    CacheKind* kind = kind_of(contents, file);
    if (!kind) {
      ++contents.other_files;
      continue;
    }
    if (!take(folder, file.name)) continue;
    ++kind->files;
    kind->bytes += file.bytes;
    kind->newest = std::max(kind->newest, file.written);
  }
  return contents;
}

}  // namespace

std::string cache_folder() { return cache::Folder::of_user().path().string(); }

Result<CacheContents> list_cache() {
  return walk([](const cache::Folder&, const std::string&) { return true; });
}

Result<CacheContents> clear_cache() {
  std::string first_problem;
  auto cleared = walk([&](const cache::Folder& folder, const std::string& name) {
    std::error_code problem;
    const bool removed = folder.remove(name, problem);
    if (problem && first_problem.empty()) first_problem = (folder.path() / name).string() + ": " + problem.message();
    return removed;
  });
  if (cleared && !first_problem.empty()) return Error{first_problem};
  return cleared;
}

std::string code_cache_problem(const std::string& root) {
  const cache::Folder folder = cache::Folder::of_user();
  if (std::string problem = folder.problem(); !problem.empty()) return problem;
  if (root.empty() || !folder.overlaps(root)) return {};
  return folder.path().string() + " and the root " + root + " lie in one another: the program could change it";
}

bool CacheGuard::allows(const linux_abi::ProcessOptions& options) {
  const std::lock_guard lock(mutex_);
  const std::string root = options.root.value_or("");
  if (!is_used_ || checked_ == root) return is_used_;
  checked_ = root;
  const std::string problem = code_cache_problem(root);
  is_used_ = problem.empty();
  if (!is_used_ && options.verbose && notice_) notice_("the code cache is off: " + problem);
  return is_used_;
}

}  // namespace kvrm
