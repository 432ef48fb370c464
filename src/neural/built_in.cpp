// The weights that come with the library: models/*.npy with their descriptions, as src/neural/embed.py wrote them.
#include "neural/built_in.h"

#include <cstddef>
#include <span>
#include <vector>

#include "kvrm/models.h"
#include "neural/sha256.h"

namespace kvrm {
namespace {

struct BuiltIn {
  std::string_view model;
  std::span<const unsigned char> npy, description;
};
#include "neural/built_in.inc"

std::string_view description_of(const BuiltIn& one) {
  return {reinterpret_cast<const char*>(one.description.data()), one.description.size()};
}

}  // namespace

std::string_view neural::built_in_description(std::string_view checksum) {
  for (const BuiltIn& one : all_built_in()) {
    if ("sha256:" + sha256(std::as_bytes(one.npy)) == checksum) return description_of(one);
  }
  return {};
}

std::string_view neural::built_in_loop_tree() {
  const auto bytes = k_loop_tree();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const BuiltIn& one : all_built_in()) names.emplace_back(one.model);
  return names;
}

Result<WeightsPointer> built_in_weights(std::string_view model) {
  for (const BuiltIn& one : all_built_in()) {
    if (one.model != model) continue;
    return parse_weights(std::as_bytes(one.npy), description_of(one), "built in");
  }
  return Error{"no weights for '" + std::string(model) + "' come with this build"};
}

}  // namespace kvrm
