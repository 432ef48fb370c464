// Translated code for lanes on a GPU, on disk, a file per program: the samples, and the kernel with the regions linked
// to it. With the file the next start needs no compiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/folder.h"
#include "translator/gpu/translator.h"

namespace kvrm::translator {

struct StoredGpuCode {
  struct Sample {
    u32 word, count;
  };
  std::vector<GpuRegionEntry> entries;  // with the numbers of regions in the image's table
  std::vector<GpuCodeRange> ranges;
  std::vector<Sample> samples;  // of every word that has any: they also say which code runs at all
  u32 default_fp_mode = 0;     // as GpuTranslator::choose() was told
  u64 words = 0;               // of guest code, with repetitions
  u32 rounds = 0;              // of sampling
  std::vector<std::byte> image;
};

class GpuStore {
 public:
  // `key`: everything the code depends on, the guest's code included.
  GpuStore(cache::Folder folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}

  std::optional<StoredGpuCode> find() const;
  // False if it could not be written.
  bool store(const StoredGpuCode& code) const;

  std::string name() const;

 private:
  const cache::Folder folder_;
  const std::string key_;
};

}  // namespace kvrm::translator
