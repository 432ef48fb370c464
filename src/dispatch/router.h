// Who decides a word's class, and with it whose decoder reads the word. Every engine asks Router::row() once for each
// word it decodes. Freestanding: on a GPU the network is asked inside the kernel.
#pragma once

#include "base/atomics.h"
#include "isa/decode.h"
#include "neural/freestanding/dispatch_network.h"

namespace kvrm::dispatch {

inline constexpr u32 kClasses = neural::kClasses;

enum class Mode : u32 {
  kTable,   // the table
  kNeural,  // the network, alone
  kHybrid,  // the network is asked, the table decides, and both answers are recorded
};

// What was decided so far.
struct Counts {
  u64 routed[kClasses];               // words sent to each class
  u64 confusion[kClasses][kClasses];  // hybrid: [the table's class][the network's]
};

namespace detail {
constexpr bool same_bits() {
  if (sizeof(isa::kRoutingBits) != neural::kFeatures) return false;
  for (u32 i = 0; i < neural::kFeatures; ++i) {
    if (isa::kRoutingBits[i] != neural::kFeatureBits[i]) return false;
  }
  return true;
}
static_assert(same_bits(), "the network must see the bits that decide");
}  // namespace detail

struct Router {
  Mode mode = Mode::kTable;
  const neural::DispatchNetwork* network = nullptr;  // unless the table alone decides
  Counts* counts = nullptr;                          // may be null

  isa::Row row(u32 word, u64 pc) const {
    const isa::Class routing = mode == Mode::kTable ? isa::routing_class(word) : ask(word, pc);
    count(counts ? &counts->routed[static_cast<u32>(routing)] : nullptr);
    return isa::decode_as(routing, word);
  }

 private:
  KVRM_COLD isa::Class ask(u32 word, u64 pc) const {
    const u32 predicted = neural::predict_class(*network, word, pc);
    if (mode == Mode::kNeural) return static_cast<isa::Class>(predicted);
    const isa::Class right = isa::routing_class(word);
    count(counts ? &counts->confusion[static_cast<u32>(right)][predicted] : nullptr);
    return right;
  }
  // Lanes of a GPU share the counts.
  static void count(u64* at) {
    if (at) sync::add<sync::kRelaxed, sync::kDevice>(at, u64{1});
  }
};

}  // namespace kvrm::dispatch
