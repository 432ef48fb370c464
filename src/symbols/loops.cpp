#include "symbols/loops.h"

#include <algorithm>
#include <utility>

#include "isa/decode.h"
#include "symbols/branches.h"

namespace kvrm::symbols {
namespace {

// The words of a loop, by number in their routine.
struct Span {
  u64 head, branch;
};

std::vector<Span> branches_back(const std::vector<u32>& words, u64 most_words) {
  std::vector<Span> found;
  for (u64 at = 0; at < words.size(); ++at) {
    const isa::Row row = isa::decode(words[at]);
    if (row == isa::Row::BL) continue;
    const DisplacementField field = displacement_field(row);
    // In object files a branch to itself is one whose target the linker fills in.
    const i64 by = field.width == 0 ? 0 : field.of(words[at]);
    if (by >= 0 || static_cast<u64>(-by) > at || static_cast<u64>(-by) >= most_words) continue;
    found.push_back({at - static_cast<u64>(-by), at});
  }
  return found;
}

}  // namespace

std::vector<StaticLoop> innermost_loops(const Image& image, u64 most_words) {
  std::vector<StaticLoop> loops;
  for (u32 number = 0; number < image.routines.size(); ++number) {
    const Routine& routine = image.routines[number];
    const std::vector<Span> spans = branches_back(routine.words, most_words);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const Span& span = spans[i];
      // Branches are in order: those inside a loop stand just before its own.
      bool is_innermost = true;
      for (std::size_t k = i; is_innermost && k-- > 0 && spans[k].branch >= span.head;)
        is_innermost = spans[k].head < span.head;
      if (!is_innermost) continue;
      const auto first = routine.words.begin() + static_cast<std::ptrdiff_t>(span.head);
      const auto last = routine.words.begin() + static_cast<std::ptrdiff_t>(span.branch) + 1;
      loops.push_back({number, routine.address + span.head * 4, {first, last}});
    }
  }
  return loops;
}

}  // namespace kvrm::symbols
