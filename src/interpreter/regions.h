// Who may know a faster way to run the code at an address than handler by handler.
#pragma once

#include "interpreter/entry.h"

namespace kvrm::interpreter {

class Regions {
 public:
  virtual ~Regions() = default;

  // The word at pc, in a page of these bytes, is about to be decoded into `place`. Gives an entry that runs it and what
  // follows if there is one; otherwise `plain`, which runs the word alone.
  virtual Entry entry_for(u64 pc, const u8* page, Entry* place, const Entry& plain) = 0;

  // Whether an entry is a region's: not its own word's alone.
  virtual bool owns(const Entry& entry) = 0;

  // What the loop does next: a burst of at most so many instructions, or, if `steps` is not 0, a trace: so many
  // instructions one by one, each by its own handler, each reported to stepped().
  struct Pace {
    u64 burst;
    u32 steps;
  };
  // The loop was left and stands at cpu.pc; `retired` instructions were run since the last call. May put entries into
  // decoded pages.
  virtual Pace between_bursts(const Cpu& cpu, u64 retired) = 0;
  // The instruction at `from` retired, and `to` is the next.
  virtual void stepped(u64 from, u64 to) = 0;

  // Decoded code of the page is void: its bytes change, or it goes away. Its entries are cleared already.
  virtual void code_written(const u8* page) = 0;
  // An address may show another page.
  virtual void code_remapped() = 0;
  // Another lane of a common memory may have written code; entries of words that changed are cleared already.
  virtual void code_of_others() = 0;
  // No decoded page is left.
  virtual void all_forgotten() = 0;
};

}  // namespace kvrm::interpreter
