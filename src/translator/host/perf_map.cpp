#include "translator/host/perf_map.h"

#include <unistd.h>

#include <cstdio>

namespace kvrm::translator {
namespace {

// One for the process. Another user may have put a link under the name: the file is created anew.
std::FILE* perf_map() {
  static std::FILE* const map = [] {
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    ::unlink(path.c_str());
    return std::fopen(path.c_str(), "wxe");
  }();
  return map;
}

}  // namespace

void list_for_perf(const void* code, u64 size, const std::string& name) {
  std::FILE* const map = perf_map();
  if (!map) return;
  std::fprintf(map, "%llx %llx %s\n", reinterpret_cast<unsigned long long>(code), size, name.c_str());
  std::fflush(map);
}

}  // namespace kvrm::translator
