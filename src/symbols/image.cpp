#include "symbols/image.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace kvrm::symbols {

const std::string& main_name(const std::vector<std::string>& names) {
  const auto rank = [](const std::string& name) { return std::tuple(name.starts_with('_'), name.size(), name); };
  return *std::ranges::min_element(names, {}, rank);
}

std::string source_name(std::string name) {
  for (const std::string_view added : {".isra.", ".constprop.", ".lto_priv.", ".localalias"}) {
    const std::size_t at = name.find(added);
    if (at == std::string::npos || at == 0) continue;
    std::size_t end = at + added.size();
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    name.erase(at, end - at);
  }
  // The numbers of parts differ from build to build.
  if (const std::size_t part = name.find(".part."); part != std::string::npos && part != 0) {
    std::size_t end = part + 6;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    name.replace(part, end - part, ".part");
  }
  return name;
}

u64 hash_of(const void* bytes, std::size_t size) {
  u64 hash = 0xcbf29ce484222325;
  const auto* at = static_cast<const u8*>(bytes);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash ^ hash >> 32;
}

u64 text_hash(const u8* begin, const u8* end) {
  constexpr std::ptrdiff_t kLeast = 4, kMost = 512;
  const u8* const limit = begin + std::min(end - begin, kMost);
  const u8* const zero = std::find(begin, limit, u8{0});
  if (zero == limit || zero - begin < kLeast) return 0;
  const bool printable = std::all_of(begin, zero, [](u8 c) { return (c >= ' ' && c < 127) || (c >= 9 && c <= 13); });
  return printable ? hash_of(begin, static_cast<std::size_t>(zero - begin)) : 0;
}

}  // namespace kvrm::symbols
