// Load/store pair: one access of twice the size. Non-temporal forms are the same here. When both registers of a load
// are one, which is unpredictable, the second wins.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class T, class Op, class M>
KVRM_INLINE Trap load_pair_of(Cpu& cpu, M& memory, const Op& op, u64 address) {
  Pair<T> pair{};
  KVRM_TRY(memory.load(cpu, address, pair));
  write(cpu, op.Rt, pair.first);
  write(cpu, op.Rt2, pair.second);
  return Trap::kNone;
}

template <class T, class Op, class M>
KVRM_INLINE Trap store_pair_of(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return memory.store(cpu, address, Pair<T>{read<T>(cpu, op.Rt), read<T>(cpu, op.Rt2)});
}

template <class Op, class M>
KVRM_INLINE Trap access_STP(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.sf ? store_pair_of<u64>(cpu, memory, op, address) : store_pair_of<u32>(cpu, memory, op, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDP(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.sf ? load_pair_of<u64>(cpu, memory, op, address) : load_pair_of<u32>(cpu, memory, op, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDPSW(Cpu& cpu, M& memory, const Op& op, u64 address) {
  Pair<u32> pair{};
  KVRM_TRY(memory.load(cpu, address, pair));
  write(cpu, op.Rt, sign_extend(pair.first, 32));
  write(cpu, op.Rt2, sign_extend(pair.second, 32));
  return Trap::kNone;
}

// Vector pairs of 4, 8 or 16 bytes each.
template <class Op, class M>
KVRM_INLINE Trap access_STP_v(Cpu& cpu, M& memory, const Op& op, u64 address) {
  const U128 first = cpu.q[op.Vt];
  const U128 second = cpu.q[op.Vt2];
  switch (op.opc) {
    case 0: return memory.store(cpu, address, Pair<u32>{static_cast<u32>(first.lo), static_cast<u32>(second.lo)});
    case 1: return memory.store(cpu, address, Pair<u64>{first.lo, second.lo});
    default: return memory.store(cpu, address, Pair<U128>{first, second});
  }
}

template <class T, class Op, class M>
KVRM_INLINE Trap load_vector_pair_of(Cpu& cpu, M& memory, const Op& op, u64 address) {
  Pair<T> pair{};
  KVRM_TRY(memory.load(cpu, address, pair));
  if constexpr (sizeof(T) == 16) {
    cpu.q[op.Vt] = pair.first;
    cpu.q[op.Vt2] = pair.second;
  } else {
    cpu.q[op.Vt] = U128{pair.first, 0};
    cpu.q[op.Vt2] = U128{pair.second, 0};
  }
  return Trap::kNone;
}

template <class Op, class M>
KVRM_INLINE Trap access_LDP_v(Cpu& cpu, M& memory, const Op& op, u64 address) {
  switch (op.opc) {
    case 0: return load_vector_pair_of<u32>(cpu, memory, op, address);
    case 1: return load_vector_pair_of<u64>(cpu, memory, op, address);
    default: return load_vector_pair_of<U128>(cpu, memory, op, address);
  }
}

template <class Op>
KVRM_INLINE u64 pair_offset(const Op& op, u32 scale) {
  return offset_of(op.simm7) << scale;
}

template <class M>
KVRM_INLINE Trap STNP(Cpu& cpu, M& memory, const isa::STNP& op) {
  return access_STP(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDNP(Cpu& cpu, M& memory, const isa::LDNP& op) {
  return access_LDP(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap STNP_v(Cpu& cpu, M& memory, const isa::STNP_v& op) {
  return access_STP_v(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, op.opc + 2u));
}

template <class M>
KVRM_INLINE Trap LDNP_v(Cpu& cpu, M& memory, const isa::LDNP_v& op) {
  return access_LDP_v(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, op.opc + 2u));
}

template <class M>
KVRM_INLINE Trap STP_post(Cpu& cpu, M& memory, const isa::STP_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STP(cpu, memory, op, base));
  write(cpu, op.Rn, base + pair_offset(op, 2u + op.sf));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDP_post(Cpu& cpu, M& memory, const isa::LDP_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDP(cpu, memory, op, base));
  write(cpu, op.Rn, base + pair_offset(op, 2u + op.sf));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDPSW_post(Cpu& cpu, M& memory, const isa::LDPSW_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDPSW(cpu, memory, op, base));
  write(cpu, op.Rn, base + pair_offset(op, kScaleW));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STP_post_v(Cpu& cpu, M& memory, const isa::STP_post_v& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STP_v(cpu, memory, op, base));
  write(cpu, op.Rn, base + pair_offset(op, op.opc + 2u));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDP_post_v(Cpu& cpu, M& memory, const isa::LDP_post_v& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDP_v(cpu, memory, op, base));
  write(cpu, op.Rn, base + pair_offset(op, op.opc + 2u));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STP_off(Cpu& cpu, M& memory, const isa::STP_off& op) {
  return access_STP(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDP_off(Cpu& cpu, M& memory, const isa::LDP_off& op) {
  return access_LDP(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDPSW_off(Cpu& cpu, M& memory, const isa::LDPSW_off& op) {
  return access_LDPSW(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, kScaleW));
}

template <class M>
KVRM_INLINE Trap STP_off_v(Cpu& cpu, M& memory, const isa::STP_off_v& op) {
  return access_STP_v(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, op.opc + 2u));
}

template <class M>
KVRM_INLINE Trap LDP_off_v(Cpu& cpu, M& memory, const isa::LDP_off_v& op) {
  return access_LDP_v(cpu, memory, op, cpu.x[op.Rn] + pair_offset(op, op.opc + 2u));
}

template <class M>
KVRM_INLINE Trap STP_pre(Cpu& cpu, M& memory, const isa::STP_pre& op) {
  const u64 base = cpu.x[op.Rn] + pair_offset(op, 2u + op.sf);
  KVRM_TRY(access_STP(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDP_pre(Cpu& cpu, M& memory, const isa::LDP_pre& op) {
  const u64 base = cpu.x[op.Rn] + pair_offset(op, 2u + op.sf);
  KVRM_TRY(access_LDP(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDPSW_pre(Cpu& cpu, M& memory, const isa::LDPSW_pre& op) {
  const u64 base = cpu.x[op.Rn] + pair_offset(op, kScaleW);
  KVRM_TRY(access_LDPSW(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STP_pre_v(Cpu& cpu, M& memory, const isa::STP_pre_v& op) {
  const u64 base = cpu.x[op.Rn] + pair_offset(op, op.opc + 2u);
  KVRM_TRY(access_STP_v(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDP_pre_v(Cpu& cpu, M& memory, const isa::LDP_pre_v& op) {
  const u64 base = cpu.x[op.Rn] + pair_offset(op, op.opc + 2u);
  KVRM_TRY(access_LDP_v(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

}  // namespace kvrm::semantics
