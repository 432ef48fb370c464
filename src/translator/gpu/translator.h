// Translated code for lanes on a GPU: chooses regions from samples of the lanes' pcs and compiles them to PTX.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "translator/gpu/lane_kind.h"

namespace kvrm::translator {

// Code that many lanes share and none can write.
struct SharedCode {
  u64 start = 0;                // guest address
  std::span<const u32> words;
  u32 first_word = 0;           // its number among all such words
};

struct GpuLimits {
  u32 fewest = 4;  // samples that make a word hot
  u32 blocks = 96, words = 256, calls = 3;  // of a region
  u32 regions = 384;
  u32 regions_a_round = 12;  // new ones in the first round, twice as many in the second, and so on
  u32 side_exits = 16;  // that cost as much as one sample: lanes run in the interpreter for a while
  u32 at_a_time = 512;  // instructions per call of a region with slow ones: a few milliseconds at worst
  u32 smallest_share = 2000;  // a word with less than one in so many samples is not worth a region
};

// Where lanes enter a region. A region with several entry points has one of these for each.
struct GpuRegionEntry {
  u64 pc;
  u32 code;  // index of the SharedCode
  u32 word;  // the number of the word at pc
  u32 from, until;  // the region's words, counted from the SharedCode's first
  u32 region, entry_point;
  u32 most;  // instructions per call (interpreter/freestanding/lane_region.h)
  u32 unused = 0;  // no padding: it goes to disk
};

// Words that a region holds, numbered as SharedCode::first_word.
struct GpuCodeRange {
  u32 region, first, end;
};

struct GpuTranslation {
  std::string ptx;              // with a table of functions, kvrm_regions, one for each region; some may be null
  std::vector<GpuRegionEntry> entries;
  std::vector<GpuCodeRange> ranges;
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

  // Before choose() or resume(): loops that lanes do bulk steps of (accelerate/), by the numbers of their words. From
  // now on every lane that comes to such a loop comes by its first word from outside of its region, which holds the
  // loop alone. All of them: what is not among them any more is ordinary code.
  virtual void leave_loops(std::span<const GpuCodeRange> loops) = 0;
  // Chooses regions, the hottest first. `samples`: for each word how often the interpreter was sampled there since the
  // last choice, then the other counts (interpreter/freestanding/lane_region.h). `slice`: instructions of a time slice.
  // default_fp_mode: FPCR is zero and inexact sticky in most lanes. True if there are regions to compile.
  virtual bool choose(std::span<const SharedCode> codes, std::span<const u32> samples, u32 slice,
                      bool default_fp_mode) = 0;
  // For a new translator: continues with what another one chose. `samples`: the sums over all its choices.
  virtual void resume(std::span<const SharedCode> codes, std::span<const u32> samples,
                      std::span<const GpuRegionEntry> entries, std::span<const GpuCodeRange> ranges,
                      bool default_fp_mode) = 0;
  // Guest words of all chosen regions, with repetitions.
  virtual u64 words() const = 0;
  // Compiles all chosen regions.
  virtual GpuTranslation translate(LaneKind kind) = 0;
};

}  // namespace kvrm::translator
