// What the generated regions of the stitch test share. A translator's stitcher brings the state into a local Cpu member
// by member, calls the meanings of constant words on it, and writes the members back; so does this.
#pragma once

#include "memory/flat.h"
#include "memory/paged.h"
#include "semantics/meaning.h"

namespace kvrm::stitch {

// A backing whose slow path is somewhere else: regions may call it, and nothing else.
struct FarBacking {
  memory::SlowAccess read_slow(u64 address, void* to, u32 size);
  memory::SlowAccess write_slow(u64 address, const void* from, u32 size);
  memory::SlowAccess exchange_slow(u64 address, const void* expected, const void* desired, void* observed, u32 size);
};
using FarPaged = memory::Paged<FarBacking>;

KVRM_INLINE void move_state(Cpu& to, const Cpu& from) {
#pragma GCC unroll 33
  for (u32 i = 0; i < kGeneralSlots; ++i) to.x[i] = from.x[i];
#pragma GCC unroll 32
  for (u32 i = 0; i < 32; ++i) {
    to.q[i].lo = from.q[i].lo;
    to.q[i].hi = from.q[i].hi;
  }
  to.pc = from.pc;
  to.n = from.n;
  to.z = from.z;
  to.c = from.c;
  to.v = from.v;
  to.fpcr = from.fpcr;
  to.fpsr = from.fpsr;
  to.fault_access = from.fault_access;
  to.fault_address = from.fault_address;
  to.tpidr_el0 = from.tpidr_el0;
  to.tpidrro_el0 = from.tpidrro_el0;
  to.exclusive_address = from.exclusive_address;
  to.exclusive_size = from.exclusive_size;
  to.ssbs = from.ssbs;
  to.exclusive_value.lo = from.exclusive_value.lo;
  to.exclusive_value.hi = from.exclusive_value.hi;
  to.clock_ns = from.clock_ns;
}

// One instruction of a region. False: leave the region, by a trap or because control goes elsewhere.
template <class Op, u32 kWord, class M>
KVRM_INLINE bool step(Cpu& cpu, M& memory, Trap& trap) {
  const u64 next = cpu.pc + 4;
  trap = semantics::Meaning<Op>::execute(cpu, memory, Op::decode(kWord));
  if (trap != Trap::kNone) return false;
  if constexpr (isa::facts(Op::kRow).flow == isa::Flow::kNext) cpu.pc = next;
  return cpu.pc == next;
}

template <class Op, class M, u32... kWords>
KVRM_INLINE Trap region(Cpu* io, M* policy) {
  Cpu cpu;
  M memory = *policy;
  move_state(cpu, *io);
  cpu.pc = 0x10000;
  Trap trap = Trap::kNone;
  (void)(step<Op, kWords>(cpu, memory, trap) && ...);
  move_state(*io, cpu);
  return trap;
}

}  // namespace kvrm::stitch
