// What kvrm keeps on disk so that later runs start faster: $XDG_CACHE_HOME/kvrm or ~/.cache/kvrm. All of it can be made
// again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

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
std::string cache_folder();
// The error: no folder is set, or it cannot be read.
Result<CacheContents> list_cache();
// Removes kvrm's own files and gives what they were. Runs under way go on; they may write new ones.
Result<CacheContents> clear_cache();

}  // namespace kvrm
