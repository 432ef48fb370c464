// What lanes on a GPU run as translated code: chooses regions where the lanes were found, and makes PTX of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "translator/lane_kind.h"

namespace kvrm::translator {

// Code that many lanes share and none can write.
struct SharedCode {
  u64 start = 0;                // guest address
  std::span<const u32> words;
  u32 entry = 0;                // the first word's number among all such words
};

struct GpuLimits {
  u32 fewest = 4;  // findings that make a place worth it
  u32 blocks = 96, words = 256, calls = 3;  // of a region
  u32 regions = 96, regions_a_round = 12;
  u32 ways_out = 16;  // that cost as much as a finding: lanes go on in the interpreter for a while
  u32 at_a_time = 512;  // instructions, where they may take long: a few milliseconds at worst
  u32 smallest_share = 500;  // a place with less than one in so many findings is not worth a region
};

// A region's head.
struct GpuHead {
  u64 address;
  u32 code;   // which SharedCode
  u32 entry;  // the word's number
  u32 from, until;  // words of the SharedCode: the region's code lies in between
  u32 region, way_in;
  u32 most;  // instructions at a time (interpreter/lane_region.h)
  u32 unused = 0;  // no bytes that say nothing: it goes to disk
};

// Code that a region holds, in words as SharedCode::entry counts them.
struct GpuStretch {
  u32 region, first, end;
};

struct GpuTranslation {
  std::string ptx;              // with a table of functions, kvrm_regions, one for each region; some may be null
  std::vector<GpuHead> heads;
  std::vector<GpuStretch> stretches;
  u64 words = 0;                // of guest code, with repetitions
  std::string error;            // why there is no ptx
};

class GpuTranslator {
 public:
  // Whether this build has one, and why not.
  static bool is_there(std::string& error);
  // Null if it is not there.
  static std::unique_ptr<GpuTranslator> create(const GpuLimits& limits);
  virtual ~GpuTranslator() = default;

  // Chooses heads, the hottest first; `heat` says for each word how often lanes were found there since the last choice,
  // and behind that the other parts that are noted (interpreter/lane_region.h); usual_float that FPCR is zero and
  // inexact sticky in most lanes. True if there are new ones, or regions that are to be made anew.
  virtual bool choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) = 0;
  // For a new one: takes what was chosen before, `heat` being that of all choices together.
  virtual void resume(std::span<const SharedCode> codes, std::span<const u32> heat, std::span<const GpuHead> heads,
                      std::span<const GpuStretch> stretches, bool usual_float) = 0;
  // Of what has been chosen so far, with repetitions.
  virtual u64 words() const = 0;
  // What has been chosen so far.
  virtual GpuTranslation translate(LaneKind kind) = 0;
};

}  // namespace kvrm::translator
