// Which rows the loop for very many lanes runs inline. The others are called: that keeps the loop small and the GPU
// compiler's time in bounds. KVRM_HOT_ROWS: one way to run the row. KVRM_HOT_SIZED_ROWS: one for each value of its
// operand sf, so that widths are constants. KVRM_HOT_CONDITIONS: one for each condition of B.cond.
#pragma once

// clang-format off

#define KVRM_HOT_ROWS(X)                                                                                       \
  X(ADR)                                                                                                       \
  X(ADRP)                                                                                                      \
  X(B)                                                                                                         \
  X(BL) X(BR) X(BLR) X(RET) X(TBZ) X(TBNZ) X(SMADDL) X(UMADDL) X(SMULH) X(UMULH) X(REV_w) X(REV_x) X(STRB_imm) \
      X(LDRB_imm) X(LDRSB_imm) X(STRH_imm) X(LDRH_imm) X(LDRSH_imm) X(LDRSW_imm) X(STURB) X(LDURB) X(LDURSW)   \
          X(STRB_post) X(LDRB_post) X(STRB_pre) X(LDRB_pre) X(STRB_reg) X(LDRB_reg) X(LDRSB_reg) X(STRH_reg)   \
              X(LDRH_reg) X(LDRSW_reg)

#define KVRM_HOT_SIZED_ROWS(X)                                                                                    \
  X(ADD_imm)                                                                                                      \
  X(ADDS_imm)                                                                                                     \
  X(SUB_imm)                                                                                                      \
  X(SUBS_imm) X(AND_imm) X(ORR_imm) X(EOR_imm) X(ANDS_imm) X(MOVN) X(MOVZ) X(MOVK) X(SBFM) X(BFM) X(UBFM) X(EXTR) \
      X(CBZ) X(CBNZ) X(ADD_shift) X(ADDS_shift) X(SUB_shift) X(SUBS_shift) X(ADD_ext) X(SUB_ext) X(SUBS_ext)      \
          X(AND_shift) X(BIC_shift) X(ORR_shift) X(ORN_shift) X(EOR_shift) X(ANDS_shift) X(CCMP_reg) X(CCMP_imm)  \
              X(CSEL) X(CSINC) X(CSINV) X(CSNEG) X(LSLV) X(LSRV) X(ASRV) X(RORV) X(MADD) X(MSUB) X(UDIV) X(SDIV)  \
                  X(CLZ) X(STR_imm) X(LDR_imm) X(STUR) X(LDUR) X(STR_post) X(LDR_post) X(STR_pre) X(LDR_pre)      \
                      X(STR_reg) X(LDR_reg) X(STP_off) X(LDP_off) X(STP_pre) X(LDP_pre) X(STP_post) X(LDP_post)

#define KVRM_HOT_CONDITIONS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
