// Advanced SIMD load/store single structure: one element of one to four registers, or one element to all lanes.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_load_store_multiple.h"

namespace kvrm::semantics {

template <class E, u32 kRegisters>
struct Structure {
  E values[kRegisters];
};

template <class E, u32 kRegisters, class M>
KVRM_INLINE Trap load_lane_of(Cpu& cpu, M& memory, u8 to, u32 index, u64 address) {
  Structure<E, kRegisters> elements{};
  KVRM_TRY(memory.load(cpu, address, elements));
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    cpu.q[next_vector(to, r)] = with_element<E>(cpu.q[next_vector(to, r)], index, elements.values[r]);
  }
  return Trap::kNone;
}

template <class E, u32 kRegisters, class M>
KVRM_INLINE Trap store_lane_of(Cpu& cpu, M& memory, u8 from, u32 index, u64 address) {
  Structure<E, kRegisters> elements{};
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    const U128 value = cpu.q[next_vector(from, r)];
    elements.values[r] = element<E>(value, index);
  }
  return memory.store(cpu, address, elements);
}

template <class E, u32 kRegisters, class Op, class M>
KVRM_INLINE Trap load_replicated_of(Cpu& cpu, M& memory, const Op& op) {
  Structure<E, kRegisters> elements{};
  KVRM_TRY(memory.load(cpu, cpu.x[op.Rn], elements));
#pragma GCC unroll 4
  for (u32 r = 0; r < kRegisters; ++r) {
    cpu.q[next_vector(op.Vt, r)] = keep_half(replicate<E>(elements.values[r]), op.Q);
  }
  return Trap::kNone;
}

// log2 of the element's bytes. scale gives it, except that scale 2 with size 1 means doublewords.
template <class Op>
KVRM_INLINE u32 lane_scale(const Op& op) {
  return op.scale == 2 && op.size == 1 ? 3 : op.scale;
}

// The index is spread over Q, S and size: as many bits of them as the element size leaves.
template <class Op>
KVRM_INLINE u32 lane_index(const Op& op) {
  return static_cast<u32>(op.Q << 3 | op.S << 2 | op.size) >> lane_scale(op);
}

template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap load_lane(Cpu& cpu, M& memory, const Op& op) {
  const u64 address = cpu.x[op.Rn];
  switch (lane_scale(op)) {
    case 0: return load_lane_of<u8, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    case 1: return load_lane_of<u16, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    case 2: return load_lane_of<u32, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    default: return load_lane_of<u64, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
  }
}

template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap store_lane(Cpu& cpu, M& memory, const Op& op) {
  const u64 address = cpu.x[op.Rn];
  switch (lane_scale(op)) {
    case 0: return store_lane_of<u8, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    case 1: return store_lane_of<u16, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    case 2: return store_lane_of<u32, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
    default: return store_lane_of<u64, kRegisters>(cpu, memory, op.Vt, lane_index(op), address);
  }
}

template <u32 kRegisters, class Op, class M>
KVRM_INLINE Trap load_replicated(Cpu& cpu, M& memory, const Op& op) {
  switch (op.size) {
    case 0: return load_replicated_of<u8, kRegisters>(cpu, memory, op);
    case 1: return load_replicated_of<u16, kRegisters>(cpu, memory, op);
    case 2: return load_replicated_of<u32, kRegisters>(cpu, memory, op);
    default: return load_replicated_of<u64, kRegisters>(cpu, memory, op);
  }
}

template <class M>
KVRM_INLINE Trap ST1_lane(Cpu& cpu, M& memory, const isa::ST1_lane& op) {
  return store_lane<1>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST1_lane_post(Cpu& cpu, M& memory, const isa::ST1_lane_post& op) {
  KVRM_TRY(store_lane<1>(cpu, memory, op));
  post_index(cpu, op, 1u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1_lane(Cpu& cpu, M& memory, const isa::LD1_lane& op) {
  return load_lane<1>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1_lane_post(Cpu& cpu, M& memory, const isa::LD1_lane_post& op) {
  KVRM_TRY(load_lane<1>(cpu, memory, op));
  post_index(cpu, op, 1u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD1R(Cpu& cpu, M& memory, const isa::LD1R& op) {
  return load_replicated<1>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD1R_post(Cpu& cpu, M& memory, const isa::LD1R_post& op) {
  KVRM_TRY(load_replicated<1>(cpu, memory, op));
  post_index(cpu, op, 1u << op.size);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST2_lane(Cpu& cpu, M& memory, const isa::ST2_lane& op) {
  return store_lane<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST2_lane_post(Cpu& cpu, M& memory, const isa::ST2_lane_post& op) {
  KVRM_TRY(store_lane<2>(cpu, memory, op));
  post_index(cpu, op, 2u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD2_lane(Cpu& cpu, M& memory, const isa::LD2_lane& op) {
  return load_lane<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD2_lane_post(Cpu& cpu, M& memory, const isa::LD2_lane_post& op) {
  KVRM_TRY(load_lane<2>(cpu, memory, op));
  post_index(cpu, op, 2u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD2R(Cpu& cpu, M& memory, const isa::LD2R& op) {
  return load_replicated<2>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD2R_post(Cpu& cpu, M& memory, const isa::LD2R_post& op) {
  KVRM_TRY(load_replicated<2>(cpu, memory, op));
  post_index(cpu, op, 2u << op.size);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST3_lane(Cpu& cpu, M& memory, const isa::ST3_lane& op) {
  return store_lane<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST3_lane_post(Cpu& cpu, M& memory, const isa::ST3_lane_post& op) {
  KVRM_TRY(store_lane<3>(cpu, memory, op));
  post_index(cpu, op, 3u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD3_lane(Cpu& cpu, M& memory, const isa::LD3_lane& op) {
  return load_lane<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD3_lane_post(Cpu& cpu, M& memory, const isa::LD3_lane_post& op) {
  KVRM_TRY(load_lane<3>(cpu, memory, op));
  post_index(cpu, op, 3u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD3R(Cpu& cpu, M& memory, const isa::LD3R& op) {
  return load_replicated<3>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD3R_post(Cpu& cpu, M& memory, const isa::LD3R_post& op) {
  KVRM_TRY(load_replicated<3>(cpu, memory, op));
  post_index(cpu, op, 3u << op.size);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap ST4_lane(Cpu& cpu, M& memory, const isa::ST4_lane& op) {
  return store_lane<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap ST4_lane_post(Cpu& cpu, M& memory, const isa::ST4_lane_post& op) {
  KVRM_TRY(store_lane<4>(cpu, memory, op));
  post_index(cpu, op, 4u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD4_lane(Cpu& cpu, M& memory, const isa::LD4_lane& op) {
  return load_lane<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD4_lane_post(Cpu& cpu, M& memory, const isa::LD4_lane_post& op) {
  KVRM_TRY(load_lane<4>(cpu, memory, op));
  post_index(cpu, op, 4u << lane_scale(op));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LD4R(Cpu& cpu, M& memory, const isa::LD4R& op) {
  return load_replicated<4>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LD4R_post(Cpu& cpu, M& memory, const isa::LD4R_post& op) {
  KVRM_TRY(load_replicated<4>(cpu, memory, op));
  post_index(cpu, op, 4u << op.size);
  return Trap::kNone;
}

}  // namespace kvrm::semantics
