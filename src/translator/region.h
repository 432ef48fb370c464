// A translated region: the code it was made from and the code it became.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interpreter/entry.h"
#include "translator/plan.h"

namespace kvrm::translator {

// Consecutive words.
struct Span {
  u64 address;
  std::vector<u32> words;
  friend bool operator==(const Span&, const Span&) = default;
};

// What a region is compiled from. Two equal sources give the same machine code.
struct Source {
  u64 entry_pc = 0;
  std::vector<Span> spans;
  u64 hash = 0;
  bool default_fp_mode = false;  // as the plan's
  bool uses_window = false;      // as the plan's

  static Source of(const Plan& plan);
  std::string name() const;
  // The addresses of the pages it lies in, each once.
  std::vector<u64> pages() const;
  // Whether the word at this address is part of it.
  bool holds(u64 pc) const;
  // The addresses of its words, each once.
  std::vector<u64> addresses() const;
  friend bool operator==(const Source&, const Source&) = default;
};

class HostCode;

struct Region {
  Source source;
  interpreter::Handler handler;
  std::shared_ptr<const HostCode> code;  // keeps the handler alive
};
using RegionPointer = std::shared_ptr<const Region>;

}  // namespace kvrm::translator
