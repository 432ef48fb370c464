// Translated regions on disk, a file per program, so that its next run starts fast. A stored region is used only where
// memory holds exactly the words it was compiled from. A second file holds the program's profile, so that code that is
// never hot in one run is translated after a few.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/folder.h"
#include "translator/host/profile.h"
#include "translator/region.h"

namespace kvrm::translator {

struct StoredRegion {
  Source source;
  u32 words = 0;
  std::vector<char> object;
};

// Not safe for several threads.
class RegionStore {
 public:
  static constexpr std::size_t kMostOfOneProgram = std::size_t{64} << 20;
  // `key`: everything but the guest's code that object files depend on. most_bytes: of object files, per program.
  RegionStore(cache::Folder folder, std::string key, std::size_t most_bytes = kMostOfOneProgram)
      : folder_(std::move(folder)), key_(std::move(key)), most_bytes_(most_bytes) {}

  // Reads a program's file, once. A program is named by a hash of its first code. Calls `found` for each region.
  void open(u64 program, const std::function<void(const Source&)>& found = {});
  // A region with this entry whose source passes; null if there is none.
  const StoredRegion* find(u64 entry_pc, const std::function<bool(const Source&)>& matches) const;
  void add(u64 program, StoredRegion region);
  // The profile of earlier runs of an open program; empty if there were none.
  Profile read_profile(u64 program) const;
  void store_profile(u64 program, const Profile& profile) const;
  // Drops everything and leaves the folder alone from now on.
  void close();
  // Writes the programs that have changed, merged with what other processes have stored meanwhile.
  void save();

  std::string name_of(u64 program) const { return file_name(kRegions, program); }
  std::string profile_name_of(u64 program) const { return file_name(kProfile, program); }

 private:
  using Regions = std::map<std::pair<u64, u64>, StoredRegion>;  // by entry pc and hash
  static constexpr const char* kRegions = "regions-";
  static constexpr const char* kProfile = "profile-";
  Regions read(u64 program) const;
  std::string file_name(const char* kind, u64 program) const;
  void store(const char* kind, u64 program, std::span<const std::byte> contents) const;

  cache::Folder folder_;
  const std::string key_;
  const std::size_t most_bytes_;
  struct Program {
    Regions regions;
    std::size_t bytes = 0;  // of their object files
    bool changed = false;
  };
  std::unordered_map<u64, Program> programs_;
};

}  // namespace kvrm::translator
