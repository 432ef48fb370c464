#include "translator/host/region_store.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "cache/bytes.h"

namespace kvrm::translator {
namespace {

constexpr std::size_t kMostFiles = 256;
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

using cache::Reader;
using cache::Writer;

void write(Writer& to, const StoredRegion& region) {
  to.put(region.source.entry_pc);
  to.put(region.source.hash);
  to.put(region.words);
  to.put(static_cast<u32>(region.source.default_fp_mode));
  to.put(static_cast<u32>(region.source.uses_window));
  to.put(static_cast<u32>(region.source.spans.size()));
  for (const Span& span : region.source.spans) {
    to.put(span.address);
    to.put(static_cast<u64>(span.words.size()));
    to.put(span.words.data(), span.words.size() * sizeof(u32));
  }
  to.put(static_cast<u64>(region.object.size()));
  to.put(region.object.data(), region.object.size());
}

bool read(Reader& from, StoredRegion& region) {
  u32 default_fp_mode = 0, uses_window = 0, spans = 0;
  if (!from.get(region.source.entry_pc) || !from.get(region.source.hash) || !from.get(region.words) ||
      !from.get(default_fp_mode) || !from.get(uses_window) || !from.get(spans)) {
    return false;
  }
  region.source.default_fp_mode = default_fp_mode != 0;
  region.source.uses_window = uses_window != 0;
  for (u32 i = 0; i < spans; ++i) {
    Span span{};
    u64 count = 0;
    if (!from.get(span.address) || !from.get(count) || !from.get(span.words, count)) return false;
    region.source.spans.push_back(std::move(span));
  }
  u64 size = 0;
  return spans != 0 && from.get(size) && from.get(region.object, size) && size != 0;
}

}  // namespace

std::string RegionStore::file_name(const char* kind, u64 program) const {
  char text[64];
  const std::uint64_t key = cache::content_hash(std::as_bytes(std::span(key_)));
  std::snprintf(text, sizeof text, "%s%016llx-%016llx.bin", kind, program, static_cast<unsigned long long>(key));
  return text;
}

void RegionStore::store(const char* kind, u64 program, std::span<const std::byte> contents) const {
  folder_.store(file_name(kind, program), std::as_bytes(std::span(key_)), contents, {kind, kMostFiles, kMostBytes});
}

RegionStore::Regions RegionStore::read(u64 program) const {
  Regions regions;
  const auto contents = folder_.find(name_of(program), std::as_bytes(std::span(key_)));
  if (!contents) return regions;
  for (Reader reader(*contents); !reader.done();) {
    StoredRegion region;
    if (!translator::read(reader, region)) return {};
    const auto key = std::pair(region.source.entry_pc, region.source.hash);
    regions.emplace(key, std::move(region));
  }
  return regions;
}

Profile RegionStore::read_profile(u64 program) const {
  const auto contents = folder_.find(profile_name_of(program), std::as_bytes(std::span(key_)));
  Profile profile;
  if (!contents) return profile;
  Reader reader(*contents);
  return profile.read(reader) ? profile : Profile{};
}

void RegionStore::store_profile(u64 program, const Profile& profile) const {
  Writer writer;
  profile.write(writer);
  store(kProfile, program, writer.bytes());
}

void RegionStore::open(u64 program, const std::function<void(const Source&)>& found) {
  const auto [slot, is_new] = programs_.try_emplace(program);
  if (!is_new) return;
  slot->second.regions = read(program);
  for (const auto& [key, region] : slot->second.regions) slot->second.bytes += region.object.size();
  if (!found) return;
  for (const auto& [key, region] : slot->second.regions) found(region.source);
}

const StoredRegion* RegionStore::find(u64 entry_pc, const std::function<bool(const Source&)>& matches) const {
  for (const auto& [program, linked] : programs_) {
    for (auto at = linked.regions.lower_bound({entry_pc, 0}); at != linked.regions.end() && at->first.first == entry_pc;
         ++at) {
      if (matches(at->second.source)) return &at->second;
    }
  }
  return nullptr;
}

void RegionStore::add(u64 program, StoredRegion region) {
  if (folder_.path().empty()) return;
  Program& linked = programs_[program];
  if (linked.bytes + region.object.size() > std::min(most_bytes_, kMostOfOneProgram)) return;
  linked.bytes += region.object.size();
  const auto key = std::pair(region.source.entry_pc, region.source.hash);
  linked.regions.insert_or_assign(key, std::move(region));
  linked.changed = true;
}

void RegionStore::close() {
  folder_ = {};
  programs_.clear();
}

void RegionStore::save() {
  for (auto& [program, linked] : programs_) {
    if (!linked.changed) continue;
    linked.changed = false;
    linked.regions.merge(read(program));
    Writer writer;
    for (const auto& [key, region] : linked.regions) {
      if (writer.size() + region.object.size() < kMostOfOneProgram) write(writer, region);
    }
    store(kRegions, program, writer.bytes());
  }
}

}  // namespace kvrm::translator
