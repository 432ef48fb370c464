// The instruction words that loops are made of.
#pragma once

#include <vector>

#include "base/types.h"

namespace kvrm::accelerate::test {

using Words = std::vector<u32>;

// sf: 64 bits.
constexpr u32 three(u32 word, u32 sf, u32 rd, u32 rn, u32 rm) { return word | sf << 31 | rm << 16 | rn << 5 | rd; }
constexpr u32 add(u32 sf, u32 rd, u32 rn, u32 rm) { return three(0x0b000000, sf, rd, rn, rm); }
constexpr u32 sub(u32 sf, u32 rd, u32 rn, u32 rm) { return three(0x4b000000, sf, rd, rn, rm); }
constexpr u32 and_(u32 sf, u32 rd, u32 rn, u32 rm) { return three(0x0a000000, sf, rd, rn, rm); }
constexpr u32 orr(u32 sf, u32 rd, u32 rn, u32 rm) { return three(0x2a000000, sf, rd, rn, rm); }
constexpr u32 eor(u32 sf, u32 rd, u32 rn, u32 rm) { return three(0x4a000000, sf, rd, rn, rm); }
constexpr u32 madd(u32 sf, u32 rd, u32 rn, u32 rm, u32 ra) { return three(0x1b000000, sf, rd, rn, rm) | ra << 10; }
constexpr u32 add_imm(u32 sf, u32 rd, u32 rn, u32 imm) { return 0x11000000 | sf << 31 | imm << 10 | rn << 5 | rd; }
constexpr u32 sub_imm(u32 sf, u32 rd, u32 rn, u32 imm) { return 0x51000000 | sf << 31 | imm << 10 | rn << 5 | rd; }
constexpr u32 subs_imm(u32 sf, u32 rd, u32 rn, u32 imm) { return 0x71000000 | sf << 31 | imm << 10 | rn << 5 | rd; }
constexpr u32 cmp(u32 sf, u32 rn, u32 rm) { return three(0x6b000000, sf, 31, rn, rm); }
constexpr u32 cmp_imm(u32 sf, u32 rn, u32 imm) { return subs_imm(sf, 31, rn, imm); }
constexpr u32 csel(u32 sf, u32 rd, u32 rn, u32 rm, u32 condition) {
  return three(0x1a800000, sf, rd, rn, rm) | condition << 12;
}
constexpr u32 csinc(u32 sf, u32 rd, u32 rn, u32 rm, u32 condition) {
  return three(0x1a800400, sf, rd, rn, rm) | condition << 12;
}
constexpr u32 lsr_imm(u32 rd, u32 rn, u32 by) { return 0xd340fc00 | by << 16 | rn << 5 | rd; }
// AND with -2^low, of 64 bits.
constexpr u32 and_imm_clear(u32 rd, u32 rn, u32 low) {
  return 0x92400000 | (64 - low) << 16 | (63 - low) << 10 | rn << 5 | rd;
}
constexpr u32 dc_zva(u32 rt) { return 0xd50b7420 | rt; }
constexpr u32 movz(u32 rd, u32 imm) { return 0xd2800000 | imm << 5 | rd; }
// size: log2 of the bytes.
constexpr u32 str_post(u32 size, u32 rt, u32 rn, int by) {
  return 0x38000400 | size << 30 | (static_cast<u32>(by) & 0x1ff) << 12 | rn << 5 | rt;
}
constexpr u32 ldr_post(u32 size, u32 rt, u32 rn, int by) { return str_post(size, rt, rn, by) | 1u << 22; }
constexpr u32 str_pre(u32 size, u32 rt, u32 rn, int by) { return str_post(size, rt, rn, by) | 1u << 11; }
constexpr u32 ldr_pre(u32 size, u32 rt, u32 rn, int by) { return ldr_post(size, rt, rn, by) | 1u << 11; }
constexpr u32 str_reg(u32 size, u32 rt, u32 rn, u32 rm) { return 0x38206800 | size << 30 | rm << 16 | rn << 5 | rt; }
constexpr u32 ldr_reg(u32 size, u32 rt, u32 rn, u32 rm) { return str_reg(size, rt, rn, rm) | 1u << 22; }
constexpr u32 str_at(u32 size, u32 rt, u32 rn, u32 slot) { return 0x39000000 | size << 30 | slot << 10 | rn << 5 | rt; }
constexpr u32 ldr_at(u32 size, u32 rt, u32 rn, u32 slot) { return str_at(size, rt, rn, slot) | 1u << 22; }
constexpr u32 stp_post(u32 a, u32 b, u32 rn, int slots) {
  return 0xa8800000 | (static_cast<u32>(slots) & 0x7f) << 15 | b << 10 | rn << 5 | a;
}
constexpr u32 ldp_post(u32 a, u32 b, u32 rn, int slots) { return stp_post(a, b, rn, slots) | 1u << 22; }
constexpr u32 stp_q_post(u32 a, u32 b, u32 rn, int slots) {
  return 0xac800000 | (static_cast<u32>(slots) & 0x7f) << 15 | b << 10 | rn << 5 | a;
}
constexpr u32 ldp_q_post(u32 a, u32 b, u32 rn, int slots) { return stp_q_post(a, b, rn, slots) | 1u << 22; }
constexpr u32 b_cond(u32 condition, int words) {
  return 0x54000000 | (static_cast<u32>(words) & 0x7ffff) << 5 | condition;
}
constexpr u32 cbz(u32 rt, int words) { return 0xb4000000 | (static_cast<u32>(words) & 0x7ffff) << 5 | rt; }
constexpr u32 cbnz(u32 rt, int words) { return cbz(rt, words) | 1u << 24; }
constexpr u32 b(int words) { return 0x14000000 | (static_cast<u32>(words) & 0x3ffffff); }
inline constexpr u32 kEq = 0, kNe = 1, kHs = 2, kLo = 3, kHi = 8, kLs = 9, kGe = 10, kLt = 11, kGt = 12, kLe = 13;
inline constexpr u32 kBrk = 0xd4200000;

}  // namespace kvrm::accelerate::test
