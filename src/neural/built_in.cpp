// The weights that come with the library: models/*.npy with their descriptions, as src/neural/embed.py wrote them.
#include <span>

#include "kvrm/models.h"

namespace kvrm {
namespace {

struct BuiltIn {
  std::string_view model;
  std::span<const unsigned char> npy, description;
};
#include "neural/built_in.inc"

}  // namespace

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const BuiltIn& one : kBuiltIn) names.emplace_back(one.model);
  return names;
}

Result<WeightsPointer> built_in_weights(std::string_view model) {
  for (const BuiltIn& one : kBuiltIn) {
    if (one.model != model) continue;
    const std::string_view description(reinterpret_cast<const char*>(one.description.data()), one.description.size());
    return parse_weights(std::as_bytes(one.npy), description, "built in");
  }
  return Error{"no weights for '" + std::string(model) + "' come with this build"};
}

}  // namespace kvrm
