// Which rows the loop for very many lanes runs inline, and in which shapes. The others are called: that keeps the loop
// small and the GPU compiler's time in bounds. A shape promises what some operands are, so that they are constants in
// its handler; the meaning stays the row's one function.
//
// KVRM_HOT_BRANCHES(X) and KVRM_HOT_OTHERS(X) give X(row, shape, promise) for every handler. Each list below takes a
// macro ROW(X, row) that says which shapes its rows have, the most general ones first.
#pragma once

// clang-format off

#define KVRM_HOT_PLAIN_BRANCHES(ROW, X)                                                                                \
  ROW(X, B) ROW(X, BL) ROW(X, BR) ROW(X, BLR) ROW(X, RET) ROW(X, TBZ) ROW(X, TBNZ)
#define KVRM_HOT_PLAIN(ROW, X)                                                                                         \
  ROW(X, ADR) ROW(X, ADRP) ROW(X, SMADDL) ROW(X, UMADDL) ROW(X, SMULH) ROW(X, UMULH) ROW(X, REV_w) ROW(X, REV_x) ROW(X, HINT)                   \
  ROW(X, STRB_imm) ROW(X, LDRB_imm) ROW(X, LDRSB_imm) ROW(X, STRH_imm) ROW(X, LDRH_imm) ROW(X, LDRSH_imm)              \
  ROW(X, LDRSW_imm) ROW(X, STURB) ROW(X, LDURB) ROW(X, LDURSW) ROW(X, STRB_post) ROW(X, LDRB_post)                     \
  ROW(X, STRB_pre) ROW(X, LDRB_pre)

// By the width of the registers.
#define KVRM_HOT_SIZED_BRANCHES(ROW, X) ROW(X, CBZ) ROW(X, CBNZ)
#define KVRM_HOT_SIZED(ROW, X)                                                                                         \
  ROW(X, ADD_imm) ROW(X, ADDS_imm) ROW(X, SUB_imm) ROW(X, SUBS_imm) ROW(X, MOVN) ROW(X, MOVZ) ROW(X, MOVK)             \
  ROW(X, EXTR) ROW(X, ADD_ext) ROW(X, SUB_ext) ROW(X, SUBS_ext) ROW(X, CCMP_reg)              \
  ROW(X, CCMP_imm) ROW(X, CSEL) ROW(X, CSINC) ROW(X, CSINV) ROW(X, CSNEG) ROW(X, LSLV) ROW(X, LSRV) ROW(X, ASRV)       \
  ROW(X, RORV) ROW(X, MADD) ROW(X, MSUB) ROW(X, UDIV) ROW(X, SDIV) ROW(X, CLZ) ROW(X, STR_imm) ROW(X, LDR_imm)         \
  ROW(X, STUR) ROW(X, LDUR) ROW(X, STR_post) ROW(X, LDR_post) ROW(X, STR_pre) ROW(X, LDR_pre) ROW(X, STP_off)          \
  ROW(X, LDP_off) ROW(X, STP_pre) ROW(X, LDP_pre) ROW(X, STP_post) ROW(X, LDP_post)

// By width, and without a shift.
#define KVRM_HOT_SHIFTED(ROW, X)                                                                                       \
  ROW(X, ADD_shift) ROW(X, ADDS_shift) ROW(X, SUB_shift) ROW(X, SUBS_shift) ROW(X, AND_shift) ROW(X, BIC_shift)        \
  ROW(X, ORR_shift) ROW(X, ORN_shift) ROW(X, EOR_shift) ROW(X, ANDS_shift)

// By width, and with an element as wide as the register.
#define KVRM_HOT_MASKED(ROW, X) ROW(X, AND_imm) ROW(X, ORR_imm) ROW(X, EOR_imm) ROW(X, ANDS_imm)

// By width, and by the direction in which the field moves.
#define KVRM_HOT_FIELDS(ROW, X) ROW(X, SBFM) ROW(X, BFM) ROW(X, UBFM)

// With a register as the offset: any extension, or none. Those of the second list also by width.
#define KVRM_HOT_INDEXED(ROW, X)                                                                                       \
  ROW(X, STRB_reg) ROW(X, LDRB_reg) ROW(X, LDRSB_reg) ROW(X, STRH_reg) ROW(X, LDRH_reg) ROW(X, LDRSW_reg)
#define KVRM_HOT_SIZED_INDEXED(ROW, X) ROW(X, STR_reg) ROW(X, LDR_reg)

#define KVRM_SHAPES_PLAIN(X, row) X(row, , (void)0)
#define KVRM_SHAPES_SIZED(X, row) X(row, _w, op.sf = 0) X(row, _x, op.sf = 1)
#define KVRM_SHAPES_SHIFTED(X, row)                                                                                    \
  KVRM_SHAPES_SIZED(X, row)                                                                                            \
  X(row, _w_unshifted, (op.sf = 0, op.shift = 0, op.imm6 = 0))                                                         \
  X(row, _x_unshifted, (op.sf = 1, op.shift = 0, op.imm6 = 0))
#define KVRM_SHAPES_MASKED(X, row)                                                                                     \
  KVRM_SHAPES_SIZED(X, row)                                                                                            \
  X(row, _w_whole, (op.sf = 0, op.N = 0, op.imms &= 31))                                                               \
  X(row, _x_whole, (op.sf = 1, op.N = 1))
#define KVRM_SHAPES_FIELDS(X, row)                                                                                     \
  X(row, _w_up, (op.sf = 0, op.N = 0)) X(row, _x_up, (op.sf = 1, op.N = 1))                                            \
  X(row, _w_down, { op.sf = 0; op.N = 0; if (op.imms < op.immr) __builtin_unreachable(); })                            \
  X(row, _x_down, { op.sf = 1; op.N = 1; if (op.imms < op.immr) __builtin_unreachable(); })
#define KVRM_SHAPES_INDEXED(X, row) X(row, , (void)0) X(row, _plain, op.option = 3)
#define KVRM_SHAPES_SIZED_INDEXED(X, row)                                                                              \
  KVRM_SHAPES_SIZED(X, row)                                                                                            \
  X(row, _w_plain, (op.sf = 0, op.option = 3)) X(row, _x_plain, (op.sf = 1, op.option = 3))
#define KVRM_SHAPES_CONDITION(X, number) X(B_cond, _##number, op.cond = number)

#define KVRM_HOT_CONDITIONS(ROW, X)                                                                                    \
  ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7)                                      \
  ROW(X, 8) ROW(X, 9) ROW(X, 10) ROW(X, 11) ROW(X, 12) ROW(X, 13) ROW(X, 14) ROW(X, 15)

// Those that end with a jump of their own, see lane_loop.h. The rest goes through a common one.
#define KVRM_FREQUENT_HANDLERS(X)                                                                                      \
  X(ADD_imm_w) X(ADD_imm_x) X(SUBS_imm_w) X(SUBS_imm_x) X(ADD_shift_w_unshifted) X(ADD_shift_x_unshifted)              \
  X(SUBS_shift_w_unshifted) X(SUBS_shift_x_unshifted) X(ORR_shift_w_unshifted) X(ORR_shift_x_unshifted)                \
  X(EOR_shift_w) X(EOR_shift_w_unshifted) X(EOR_shift_x_unshifted) X(AND_shift_w_unshifted) X(SBFM_w_down)             \
  X(UBFM_w_down) X(MADD_w) X(MADD_x) X(LDR_imm_w) X(LDR_imm_x) X(LDR_post_x) X(LDR_reg_x_plain) X(LDRB_imm)            \
  X(LDRB_post) X(LDRB_reg_plain) X(STRB_reg_plain) X(LDP_off_x) X(CBNZ_w) X(B_cond_0) X(B_cond_1) X(B_cond_12)         \
  X(B_cond_13)

#define KVRM_HOT_BRANCHES(X)                                                                                           \
  KVRM_HOT_PLAIN_BRANCHES(KVRM_SHAPES_PLAIN, X)                                                                        \
  KVRM_HOT_SIZED_BRANCHES(KVRM_SHAPES_SIZED, X)                                                                        \
  KVRM_HOT_CONDITIONS(KVRM_SHAPES_CONDITION, X)

#define KVRM_HOT_OTHERS(X)                                                                                             \
  KVRM_HOT_PLAIN(KVRM_SHAPES_PLAIN, X)                                                                                 \
  KVRM_HOT_SIZED(KVRM_SHAPES_SIZED, X)                                                                                 \
  KVRM_HOT_SHIFTED(KVRM_SHAPES_SHIFTED, X)                                                                             \
  KVRM_HOT_MASKED(KVRM_SHAPES_MASKED, X)                                                                               \
  KVRM_HOT_FIELDS(KVRM_SHAPES_FIELDS, X)                                                                               \
  KVRM_HOT_INDEXED(KVRM_SHAPES_INDEXED, X)                                                                             \
  KVRM_HOT_SIZED_INDEXED(KVRM_SHAPES_SIZED_INDEXED, X)
