// Advanced SIMD load/store multiple structures: LD1-LD4 and ST1-ST4 of whole registers, one contiguous access.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

// kHalves times eight bytes in memory: kRegisters registers of 8 or 16 bytes.
template <u32 kHalves>
struct Halves {
  u64 words[kHalves];
};

// The register a structure's next element goes to; after V31 comes V0.
KVRM_INLINE u8 next_vector(u8 first, u32 index) { return static_cast<u8>((first + index) & 31); }

// Memory order of a structure access: element e of register r is at index e * kRegisters + r. With E = u64 halves
// and one register after the other (LD1), r * elements + e.
template <class E, u32 kHalves>
KVRM_INLINE E memory_element(const Halves<kHalves>& halves, u32 index) {
  const u32 position = index * kBits<E>;
  return static_cast<E>(halves.words[position / 64] >> (position & 63));
}

template <class E, u32 kHalves>
KVRM_INLINE void set_memory_element(Halves<kHalves>& halves, u32 index, E element) {
  const u32 position = index * kBits<E>;
  halves.words[position / 64] |= u64{element} << (position & 63);
}

template <u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap load_consecutive(Cpu& cpu, M& memory, u8 to, u64 address) {
  constexpr u32 kPer = kWhole ? 2 : 1;
  Halves<kRegisters * kPer> halves{};
  KVRM_TRY(memory.load(cpu, address, halves));
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    cpu.q[next_vector(to, r)] = U128{halves.words[r * kPer], kWhole ? halves.words[r * kPer + kPer - 1] : 0};
  }
  return Trap::kNone;
}

template <u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap store_consecutive(Cpu& cpu, M& memory, u8 from, u64 address) {
  constexpr u32 kPer = kWhole ? 2 : 1;
  Halves<kRegisters * kPer> halves{};
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    const U128 value = cpu.q[next_vector(from, r)];
    halves.words[r * kPer] = value.lo;
    if (kWhole) halves.words[r * kPer + kPer - 1] = value.hi;
  }
  return memory.store(cpu, address, halves);
}

template <class E, u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap load_interleaved_of(Cpu& cpu, M& memory, u8 to, u64 address) {
  constexpr u32 kElements = (kWhole ? 16 : 8) / sizeof(E);
  Halves<kRegisters*(kWhole ? 2 : 1)> halves{};
  KVRM_TRY(memory.load(cpu, address, halves));
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    U128 value{};
#pragma GCC unroll 16
    for (u32 e = 0; e < kElements; ++e) {
      value = with_element<E>(value, e, memory_element<E>(halves, e * kRegisters + r));
    }
    cpu.q[next_vector(to, r)] = value;
  }
  return Trap::kNone;
}

template <class E, u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap store_interleaved_of(Cpu& cpu, M& memory, u8 from, u64 address) {
  constexpr u32 kElements = (kWhole ? 16 : 8) / sizeof(E);
  Halves<kRegisters*(kWhole ? 2 : 1)> halves{};
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    const U128 value = cpu.q[next_vector(from, r)];
#pragma GCC unroll 16
    for (u32 e = 0; e < kElements; ++e) {
      set_memory_element<E>(halves, e * kRegisters + r, element<E>(value, e));
    }
  }
  return memory.store(cpu, address, halves);
}

template <u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap load_interleaved(Cpu& cpu, M& memory, u8 to, u8 size, u64 address) {
  switch (size) {
    case 0: return load_interleaved_of<u8, kRegisters, kWhole>(cpu, memory, to, address);
    case 1: return load_interleaved_of<u16, kRegisters, kWhole>(cpu, memory, to, address);
    case 2: return load_interleaved_of<u32, kRegisters, kWhole>(cpu, memory, to, address);
    default: return load_interleaved_of<u64, kRegisters, kWhole>(cpu, memory, to, address);
  }
}

template <u32 kRegisters, bool kWhole, class M>
KVRM_INLINE Trap store_interleaved(Cpu& cpu, M& memory, u8 from, u8 size, u64 address) {
  switch (size) {
    case 0: return store_interleaved_of<u8, kRegisters, kWhole>(cpu, memory, from, address);
    case 1: return store_interleaved_of<u16, kRegisters, kWhole>(cpu, memory, from, address);
    case 2: return store_interleaved_of<u32, kRegisters, kWhole>(cpu, memory, from, address);
    default: return store_interleaved_of<u64, kRegisters, kWhole>(cpu, memory, from, address);
  }
}

// Post-indexing: by a register, or, where that is register 31, by the bytes transferred.
template <class Op>
KVRM_INLINE void post_index(Cpu& cpu, const Op& op, u32 bytes) {
  const u64 step = op.Rm == kZeroSlot ? bytes : cpu.x[op.Rm];
  write(cpu, op.Rn, cpu.x[op.Rn] + step);
}

template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap load_multiple_1(Cpu& cpu, M& memory, const Op& op) {
  return op.Q ? load_consecutive<kRegisters, true>(cpu, memory, op.Vt, cpu.x[op.Rn])
              : load_consecutive<kRegisters, false>(cpu, memory, op.Vt, cpu.x[op.Rn]);
}
template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap store_multiple_1(Cpu& cpu, M& memory, const Op& op) {
  return op.Q ? store_consecutive<kRegisters, true>(cpu, memory, op.Vt, cpu.x[op.Rn])
              : store_consecutive<kRegisters, false>(cpu, memory, op.Vt, cpu.x[op.Rn]);
}
template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap load_multiple_n(Cpu& cpu, M& memory, const Op& op) {
  return op.Q ? load_interleaved<kRegisters, true>(cpu, memory, op.Vt, op.size, cpu.x[op.Rn])
              : load_interleaved<kRegisters, false>(cpu, memory, op.Vt, op.size, cpu.x[op.Rn]);
}
template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap store_multiple_n(Cpu& cpu, M& memory, const Op& op) {
  return op.Q ? store_interleaved<kRegisters, true>(cpu, memory, op.Vt, op.size, cpu.x[op.Rn])
              : store_interleaved<kRegisters, false>(cpu, memory, op.Vt, op.size, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap ST1_x1(Cpu& cpu, M& memory, const isa::ST1_x1& op) {
  return store_multiple_1<1>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST1_x1_post(Cpu& cpu, M& memory, const isa::ST1_x1_post& op) {
  KVRM_TRY(store_multiple_1<1>(cpu, memory, op));
  post_index(cpu, op, 1 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST1_x2(Cpu& cpu, M& memory, const isa::ST1_x2& op) {
  return store_multiple_1<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST1_x2_post(Cpu& cpu, M& memory, const isa::ST1_x2_post& op) {
  KVRM_TRY(store_multiple_1<2>(cpu, memory, op));
  post_index(cpu, op, 2 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST1_x3(Cpu& cpu, M& memory, const isa::ST1_x3& op) {
  return store_multiple_1<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST1_x3_post(Cpu& cpu, M& memory, const isa::ST1_x3_post& op) {
  KVRM_TRY(store_multiple_1<3>(cpu, memory, op));
  post_index(cpu, op, 3 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST1_x4(Cpu& cpu, M& memory, const isa::ST1_x4& op) {
  return store_multiple_1<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST1_x4_post(Cpu& cpu, M& memory, const isa::ST1_x4_post& op) {
  KVRM_TRY(store_multiple_1<4>(cpu, memory, op));
  post_index(cpu, op, 4 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST2_multi(Cpu& cpu, M& memory, const isa::ST2_multi& op) {
  return store_multiple_n<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST2_multi_post(Cpu& cpu, M& memory, const isa::ST2_multi_post& op) {
  KVRM_TRY(store_multiple_n<2>(cpu, memory, op));
  post_index(cpu, op, 2 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST3_multi(Cpu& cpu, M& memory, const isa::ST3_multi& op) {
  return store_multiple_n<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST3_multi_post(Cpu& cpu, M& memory, const isa::ST3_multi_post& op) {
  KVRM_TRY(store_multiple_n<3>(cpu, memory, op));
  post_index(cpu, op, 3 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST4_multi(Cpu& cpu, M& memory, const isa::ST4_multi& op) {
  return store_multiple_n<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST4_multi_post(Cpu& cpu, M& memory, const isa::ST4_multi_post& op) {
  KVRM_TRY(store_multiple_n<4>(cpu, memory, op));
  post_index(cpu, op, 4 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1_x1(Cpu& cpu, M& memory, const isa::LD1_x1& op) {
  return load_multiple_1<1>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1_x1_post(Cpu& cpu, M& memory, const isa::LD1_x1_post& op) {
  KVRM_TRY(load_multiple_1<1>(cpu, memory, op));
  post_index(cpu, op, 1 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1_x2(Cpu& cpu, M& memory, const isa::LD1_x2& op) {
  return load_multiple_1<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1_x2_post(Cpu& cpu, M& memory, const isa::LD1_x2_post& op) {
  KVRM_TRY(load_multiple_1<2>(cpu, memory, op));
  post_index(cpu, op, 2 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1_x3(Cpu& cpu, M& memory, const isa::LD1_x3& op) {
  return load_multiple_1<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1_x3_post(Cpu& cpu, M& memory, const isa::LD1_x3_post& op) {
  KVRM_TRY(load_multiple_1<3>(cpu, memory, op));
  post_index(cpu, op, 3 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1_x4(Cpu& cpu, M& memory, const isa::LD1_x4& op) {
  return load_multiple_1<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1_x4_post(Cpu& cpu, M& memory, const isa::LD1_x4_post& op) {
  KVRM_TRY(load_multiple_1<4>(cpu, memory, op));
  post_index(cpu, op, 4 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD2_multi(Cpu& cpu, M& memory, const isa::LD2_multi& op) {
  return load_multiple_n<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD2_multi_post(Cpu& cpu, M& memory, const isa::LD2_multi_post& op) {
  KVRM_TRY(load_multiple_n<2>(cpu, memory, op));
  post_index(cpu, op, 2 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD3_multi(Cpu& cpu, M& memory, const isa::LD3_multi& op) {
  return load_multiple_n<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD3_multi_post(Cpu& cpu, M& memory, const isa::LD3_multi_post& op) {
  KVRM_TRY(load_multiple_n<3>(cpu, memory, op));
  post_index(cpu, op, 3 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD4_multi(Cpu& cpu, M& memory, const isa::LD4_multi& op) {
  return load_multiple_n<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD4_multi_post(Cpu& cpu, M& memory, const isa::LD4_multi_post& op) {
  KVRM_TRY(load_multiple_n<4>(cpu, memory, op));
  post_index(cpu, op, 4 * (op.Q ? 16 : 8));
  return Trap::kNone;
}

}  // namespace kvrm::semantics
