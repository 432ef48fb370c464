// The cache on disk that makes later runs start faster: $XDG_CACHE_HOME/kvrm or ~/.cache/kvrm. All of it can be
// regenerated.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"

namespace kvrm {

struct CacheKind {
  std::string name;  // "regions"
  std::string purpose;  // in a few words
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point newest;  // when its newest file was written; the epoch if there is none
};

struct CacheContents {
  std::string folder;  // whether it exists or not
  std::vector<CacheKind> kinds;
  std::uint64_t other_files = 0;  // files that are not kvrm's: never touched
};

// The folder's name, whether it exists or not; empty: none is set.
KVRM_API std::string cache_folder();
// Why the cache is not used for a program with this root (empty: none), in one line; empty if it is used. Code in the
// cache is run, so the folder must belong to the user and no program may write to it. The library ignores a symbolic
// link, a folder of another user or that others can write to, and a folder that contains the root or lies below it.
KVRM_API std::string code_cache_problem(const std::string& root);

// The error: no folder is set, it cannot be read, or it is not the user's own.
KVRM_API Result<CacheContents> list_cache();
// Removes kvrm's own files and returns what they were. Active runs continue and may write new ones.
KVRM_API Result<CacheContents> clear_cache();

}  // namespace kvrm
