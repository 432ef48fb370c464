#include "translator/gpu_store.h"

#include <cstdio>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cache/bytes.h"

namespace kvrm::translator {
namespace {

// An image is a whole kernel.
const cache::Limits kLimits{"gpu-regions-", 64, std::uint64_t{1} << 30};

static_assert(std::has_unique_object_representations_v<GpuHead>);
static_assert(std::has_unique_object_representations_v<GpuStretch>);
static_assert(std::has_unique_object_representations_v<StoredGpuCode::Place>);

}  // namespace

std::string GpuStore::name() const {
  char text[64];
  const std::uint64_t key = cache::content_hash(std::as_bytes(std::span(key_)));
  std::snprintf(text, sizeof text, "%s%016llx.bin", kLimits.prefix.c_str(), static_cast<unsigned long long>(key));
  return text;
}

std::optional<StoredGpuCode> GpuStore::find() const {
  const auto contents = folder_.find(name(), std::as_bytes(std::span(key_)));
  if (!contents) return std::nullopt;
  cache::Reader from(*contents);
  // The folder compares a hash of the key. A guest has a say in this one, so it is compared itself.
  std::vector<char> key;
  u64 length = 0;
  if (!from.get(length) || !from.get(key, length) || std::string_view(key.data(), key.size()) != key_)
    return std::nullopt;
  StoredGpuCode code;
  u64 heads = 0, stretches = 0, places = 0, size = 0;
  if (!from.get(code.words) || !from.get(code.rounds) || !from.get(code.usual_float) || !from.get(heads) ||
      !from.get(code.heads, heads) || !from.get(stretches) || !from.get(code.stretches, stretches) ||
      !from.get(places) || !from.get(code.places, places) || !from.get(size) || !from.get(code.image, size) ||
      !from.done()) {
    return std::nullopt;
  }
  if ((heads == 0) != (size == 0)) return std::nullopt;
  return code;
}

bool GpuStore::store(const StoredGpuCode& code) const {
  cache::Writer to;
  to.put(static_cast<u64>(key_.size()));
  to.put(key_.data(), key_.size());
  to.put(code.words);
  to.put(code.rounds);
  to.put(code.usual_float);
  to.put(static_cast<u64>(code.heads.size()));
  to.put(code.heads.data(), code.heads.size() * sizeof(GpuHead));
  to.put(static_cast<u64>(code.stretches.size()));
  to.put(code.stretches.data(), code.stretches.size() * sizeof(GpuStretch));
  to.put(static_cast<u64>(code.places.size()));
  to.put(code.places.data(), code.places.size() * sizeof(StoredGpuCode::Place));
  to.put(static_cast<u64>(code.image.size()));
  to.put(code.image.data(), code.image.size());
  return folder_.store(name(), std::as_bytes(std::span(key_)), to.bytes(), kLimits);
}

}  // namespace kvrm::translator
