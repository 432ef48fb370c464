// What kvrm keeps on disk so that later runs start faster: $XDG_CACHE_HOME/kvrm or ~/.cache/kvrm. All of it can be made
// again.
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
  std::uint64_t other_files = 0;  // of somebody else: never touched
};

// The folder's name, whether it exists or not; empty: none is set.
KVRM_API std::string cache_folder();
// Why the cache would not be used for a program with this root (empty: none), in one line; empty if it would be. What
// is found there is run, so it must be the user's own folder, and no program may be able to write to it: a symbolic
// link, a folder of somebody else's or that others can write to, one below the root or with the root below it is left
// alone.
KVRM_API std::string code_cache_problem(const std::string& root);

// The error: no folder is set, it cannot be read, or it is not the user's own.
KVRM_API Result<CacheContents> list_cache();
// Removes kvrm's own files and gives what they were. Runs under way go on; they may write new ones.
KVRM_API Result<CacheContents> clear_cache();

}  // namespace kvrm
