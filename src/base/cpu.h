// The architectural state of one lane at EL0, as flat plain data: it can be copied to a GPU as it is.
#pragma once

#include "base/types.h"

namespace kvrm {

// Where general registers live in Cpu::x. Register number 31 means one of two things, and the decoder
// settles which: slot 31 is the zero register and slot 32 is SP. Semantics read the file without asking,
// and write it through semantics/registers.h, which keeps slot 31 zero.
inline constexpr u8 kZeroSlot = 31;
inline constexpr u8 kSpSlot = 32;
inline constexpr u32 kGeneralSlots = 33;

// Data addresses ignore their top byte (TBI).
inline constexpr u64 kUntaggedAddress = (u64{1} << 56) - 1;

// The address a fault reports: without its tag, as Linux does, which leaves addresses of the upper half alone.
constexpr u64 reported_address(u64 address) { return address >> 55 & 1 ? address : address & kUntaggedAddress; }

// Why a row's function did not complete normally.
enum class Trap : u32 {
  kNone = 0,
  kUndefined,    // the word is not an instruction here
  kSystemCall,   // SVC: retired, pc is already after it
  kBreakpoint,   // BRK, cpu.fault_address holds the immediate
  kHalt,         // HLT, cpu.fault_address holds the immediate
  kUnmapped,     // no page at cpu.fault_address
  kPermission,   // a page, but not for this access
  kAlignment,    // an access that must be aligned is not
  kPcAlignment,  // a fetch from an address that is no multiple of four
  kOutOfMemory,  // the guest's memory limit is reached at cpu.fault_address
  // Between a driver and a memory policy that accesses the pages of a TLB only.
  kTlbMiss,  // the page at cpu.fault_address is not in the TLB: refill and try again
  kFallback,    // the instruction must be run with the whole of the memory
  kDiverged,  // another lane has to refill its TLB first: try again
};

enum class Access : u32 { kRead = 1, kWrite = 2, kExecute = 4 };

template <class Vectors>
struct BasicCpu {
  u64 x[kGeneralSlots];
  u64 pc;
  // Condition flags, each 0 or 1.
  u8 n, z, c, v;
  u32 fpcr;
  u32 fpsr;
  u32 fault_access;   // an Access, for the memory traps
  u64 fault_address;  // for the memory traps; the immediate for BRK and HLT
  Vectors q;          // V0-V31
  u64 tpidr_el0;
  u64 tpidrro_el0;
  // The exclusive monitor: armed when exclusive_size is not zero. The value is what the load saw.
  u64 exclusive_address;
  u32 exclusive_size;
  u32 ssbs;  // PSTATE.SSBS, 0 or 1
  U128 exclusive_value;
  // The lane's clock in nanoseconds, from which CNTVCT_EL0 is read. The driver brings it up to date
  // before every row of the class system; by default one retired instruction is one nanosecond.
  u64 clock_ns;
};

// The state in one piece. A driver that keeps the vector registers apart from the rest defines KVRM_VECTORS_ELSEWHERE
// before it includes anything: `q` is a pointer to them then, with the same use.
using WholeCpu = BasicCpu<U128[32]>;
#ifdef KVRM_VECTORS_ELSEWHERE
using Cpu = BasicCpu<U128*>;
#else
using Cpu = WholeCpu;
#endif

// Everything but the general and the vector registers, between states of any shape.
template <class From, class To>
KVRM_INLINE void copy_rest(const From& from, To& to) {
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
// The whole state, including the vector registers of either shape.
template <class From, class To>
inline void copy_registers(const From& from, To& to) {
  for (u32 i = 0; i < kGeneralSlots; ++i) to.x[i] = from.x[i];
  for (u32 i = 0; i < 32; ++i) to.q[i] = from.q[i];
  copy_rest(from, to);
}

// NZCV as the architecture packs it, in bits 31..28.
constexpr u32 pack_nzcv(const Cpu& cpu) {
  return u32{cpu.n} << 31 | u32{cpu.z} << 30 | u32{cpu.c} << 29 | u32{cpu.v} << 28;
}
constexpr void unpack_nzcv(Cpu& cpu, u32 nzcv) {
  cpu.n = static_cast<u8>(nzcv >> 31 & 1);
  cpu.z = static_cast<u8>(nzcv >> 30 & 1);
  cpu.c = static_cast<u8>(nzcv >> 29 & 1);
  cpu.v = static_cast<u8>(nzcv >> 28 & 1);
}

}  // namespace kvrm
