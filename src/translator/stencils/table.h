// The stencils of the build, and how words become machine code with them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "interpreter/entry.h"
#include "translator/stencils/format.h"

namespace kvrm::translator::stencils {

// Where the code of a page's words begins; kNoCode: nowhere, the interpreter has to run the word.
inline constexpr u32 kNoCode = ~0u;
struct PageCode {
  std::vector<u8> bytes;  // works at any address
  std::array<u32, interpreter::kWordsPerPage> entry_points;
  // Where the code of each word begins, in the part that ends at `words_end`: an entry may lie elsewhere and jump
  // there.
  std::array<u32, interpreter::kWordsPerPage> words;
  u32 words_end;
  // Accesses to the lane's window, in order, and where they continue if they fault.
  struct Access {
    u32 offset, landing;
  };
  std::vector<Access> accesses;
};

// Whether this program has stencils, and this processor runs them.
bool are_available();

// Machine code for all words of a page at an address, for lanes with or without a window.
PageCode translate_page(u64 address, const std::array<u32, interpreter::kWordsPerPage>& words, bool uses_window);

}  // namespace kvrm::translator::stencils
