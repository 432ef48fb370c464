// What the generated regions of the stitch test share. A translator's stitcher brings the state into a local Cpu member
// by member, calls the meanings of constant words on it, and writes the members back; so does this.
#pragma once

#include "memory/freestanding/flat.h"
#include "memory/freestanding/paged.h"
#include "semantics/meaning.h"

namespace kvrm::stitch {

// A backing whose slow path is somewhere else: regions may call it, and nothing else.
struct FarBacking {
  memory::SlowAccess read_slow(memory::Tlb& cache, u64 address, void* to, u32 size);
  memory::SlowAccess write_slow(memory::Tlb& cache, u64 address, const void* from, u32 size);
  memory::SlowAccess exchange_slow(memory::Tlb& cache, u64 address, const void* expected, const void* desired,
                                   void* observed, u32 size);
  void fence_slow(memory::Tlb& cache);
};
using FarPaged = memory::Paged<FarBacking>;

// Loops would have to be unrolled first; a pack of indices is flat from the start.
template <class, u32... kIndices>
struct Indices {};
template <u32 kCount>
using IndicesTo = __make_integer_seq<Indices, u32, kCount>;

template <u32... kIndices>
KVRM_INLINE void move_general(Cpu& to, const Cpu& from, Indices<u32, kIndices...>) {
  ((to.x[kIndices] = from.x[kIndices]), ...);
}

template <u32... kIndices>
KVRM_INLINE void move_vectors(Cpu& to, const Cpu& from, Indices<u32, kIndices...>) {
  ((to.q[kIndices].lo = from.q[kIndices].lo, to.q[kIndices].hi = from.q[kIndices].hi), ...);
}

KVRM_INLINE void move_state(Cpu& to, const Cpu& from) {
  move_general(to, from, IndicesTo<kGeneralSlots>{});
  move_vectors(to, from, IndicesTo<32>{});
  copy_rest(from, to);
}

// A constant word of a row.
template <class Op, u32 kWord>
struct Step {};

// One instruction of a region. False: a trap ends the region. The caller of the region says whether traps do, so that
// one that is known at compile time (SVC, an unallocated system register) does not hide the words after it.
// Where control goes is added to `trail`; the region goes on with the next word in any case.
template <class Op, u32 kWord, class M>
KVRM_INLINE bool run(Step<Op, kWord>, Cpu& cpu, M& memory, bool traps_leave, u64& trail) {
  const u64 next = cpu.pc + 4;
  const Trap trap = semantics::Meaning<Op>::execute(cpu, memory, Op::decode(kWord));
  if (trap != Trap::kNone) {
    trail = trail * 3 + static_cast<u64>(trap);
    if (traps_leave) return false;
  }
  trail += cpu.pc;
  cpu.pc = next;
  return true;
}

// Room for a state that nothing has written yet, as a stitcher's alloca is.
union Local {
  Local() {}
  Cpu cpu;
};

template <class M, class... Steps>
KVRM_INLINE u64 region(Cpu* io, M* policy, bool traps_leave) {
  Local local;
  Cpu& cpu = local.cpu;
  M memory = *policy;
  move_state(cpu, *io);
  cpu.pc = 0x10000;
  u64 trail = 0;
  (void)(run(Steps{}, cpu, memory, traps_leave, trail) && ...);
  move_state(*io, cpu);
  return trail;
}

}  // namespace kvrm::stitch
