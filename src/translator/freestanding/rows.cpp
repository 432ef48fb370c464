// The semantics as a library of functions for the stitcher, one per row. Compiled to bitcode only, never linked: the
// translator inlines these functions with constant operands.
#include "semantics/meaning.h"
#if defined(__NVPTX__) || defined(KVRM_LANE_ROWS)
#define KVRM_LANES
#include "translator/freestanding/lane_links.h"
#elif defined(KVRM_WINDOW_ROWS)
#include "translator/freestanding/window_links.h"
#elif defined(KVRM_LOOP_ROWS)
#include "translator/freestanding/loop_links.h"
#else
#include "translator/freestanding/links.h"
#endif

namespace kvrm::translator {

#if defined(KVRM_LANES)
using Links = LaneLinks;
#elif defined(KVRM_LOOP_ROWS)
using Links = LoopLinks;
#endif

template <class Op>
KVRM_INLINE Trap run_row(Cpu& cpu, [[maybe_unused]] Links* links, u64 bits) {
  Op op;
  static_assert(sizeof(op) <= sizeof(bits));
  __builtin_memcpy(&op, &bits, sizeof(op));
#if defined(KVRM_LANES)
  LinkedLaneMemory memory{links};
#elif defined(KVRM_SHARED_ROWS)
  LinkedSharedMemory memory{links};
#elif defined(KVRM_WINDOW_ROWS)
  LinkedBacking backing{links};
  WindowMemory<memory::Paged<LinkedBacking>> memory{links->window, {links->translations, &backing}};
#elif defined(KVRM_LOOP_ROWS)
  LoopMemory memory;
#else
  LinkedBacking backing{links};
  memory::Paged<LinkedBacking> memory{links->translations, &backing};
#endif
  return semantics::Meaning<Op>::execute(cpu, memory, op);
}

}  // namespace kvrm::translator

#define KVRM_ROW_FUNCTION(name)                                                                               \
  extern "C" kvrm::Trap kvrm_row_##name(kvrm::Cpu* cpu, kvrm::translator::Links* links, kvrm::u64 operands) { \
    return kvrm::translator::run_row<kvrm::isa::name>(*cpu, links, operands);                                 \
  }
KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_ROW_FUNCTION)
