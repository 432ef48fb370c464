#include "translator/gpu/store.h"

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

static_assert(std::has_unique_object_representations_v<GpuRegionEntry>);
static_assert(std::has_unique_object_representations_v<GpuCodeRange>);
static_assert(std::has_unique_object_representations_v<StoredGpuCode::Sample>);

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
  // The folder compares a hash of the key. A guest influences this one, so the key itself is compared.
  std::vector<char> key;
  u64 length = 0;
  if (!from.get(length) || !from.get(key, length) || std::string_view(key.data(), key.size()) != key_)
    return std::nullopt;
  StoredGpuCode code;
  u64 entries = 0, ranges = 0, samples = 0, size = 0;
  if (!from.get(code.words) || !from.get(code.rounds) || !from.get(code.default_fp_mode) || !from.get(entries) ||
      !from.get(code.entries, entries) || !from.get(ranges) || !from.get(code.ranges, ranges) || !from.get(samples) ||
      !from.get(code.samples, samples) || !from.get(size) || !from.get(code.image, size) || !from.done()) {
    return std::nullopt;
  }
  if ((entries == 0) != (size == 0)) return std::nullopt;
  return code;
}

bool GpuStore::store(const StoredGpuCode& code) const {
  cache::Writer to;
  to.put(static_cast<u64>(key_.size()));
  to.put(key_.data(), key_.size());
  to.put(code.words);
  to.put(code.rounds);
  to.put(code.default_fp_mode);
  to.put(static_cast<u64>(code.entries.size()));
  to.put(code.entries.data(), code.entries.size() * sizeof(GpuRegionEntry));
  to.put(static_cast<u64>(code.ranges.size()));
  to.put(code.ranges.data(), code.ranges.size() * sizeof(GpuCodeRange));
  to.put(static_cast<u64>(code.samples.size()));
  to.put(code.samples.data(), code.samples.size() * sizeof(StoredGpuCode::Sample));
  to.put(static_cast<u64>(code.image.size()));
  to.put(code.image.data(), code.image.size());
  return folder_.store(name(), std::as_bytes(std::span(key_)), to.bytes(), kLimits);
}

}  // namespace kvrm::translator
