// The translator's interface to the interpreter: regions replace the handlers at their entries.
#pragma once

#include "interpreter/entry.h"

namespace kvrm::interpreter {

class Regions {
 public:
  virtual ~Regions() = default;

  // The word at pc, in a page of these bytes, is about to be decoded into `slot`. Returns an entry that runs the region
  // there, if there is one; otherwise `plain`, which runs the word alone.
  virtual Entry entry_for(u64 pc, const u8* page, Entry* slot, const Entry& plain) = 0;

  // What the loop does next: a burst of at most so many instructions, or, if `steps` is not 0, a trace: so many
  // instructions one by one, each by its own handler, each reported to stepped().
  struct Pace {
    u64 burst;
    u32 steps;
  };
  // The loop was left at cpu.pc; `retired` instructions ran since the last call. May put entries into decoded pages.
  virtual Pace between_bursts(const Cpu& cpu, u64 retired) = 0;
  // The instruction at `from` retired, and `to` is the next.
  virtual void stepped(u64 from, u64 to) = 0;

  // Decoded code of the page is invalid: its bytes change, or it is unmapped. Its entries are cleared already.
  virtual void code_written(const u8* page) = 0;
  // The page, whose entries were for one address, is entered at another. Its entries are cleared already.
  virtual void code_elsewhere(const u8* page) = 0;
  // An address may map another page.
  virtual void code_remapped() = 0;
  // Another lane that shares the memory may have written code; entries of changed words are cleared already.
  virtual void other_lane_wrote_code() = 0;
  // All decoded pages were dropped.
  virtual void all_forgotten() = 0;
};

}  // namespace kvrm::interpreter
