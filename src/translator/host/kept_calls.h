// Calls that keep nearly all registers, for functions that regions seldom call (passes/kept_calls.h).
//
// An ordinary call keeps no vector register, so everything that lives across it would lie in memory, on the frequent
// way around the call too.
#pragma once

// Where they are defined, the list of symbols has them.
#if defined(__x86_64__)
#define KVRM_KEPT_CALL_SYMBOLS(symbol, name) symbol(kvrm_keeps_##name) symbol(kvrm_keeps_but_rdx_##name)

// Keeps all but R11, RAX and RDX if that is the second half of the result. Region code has vectors of 128 bits at most.
// RSP is a multiple of 16 plus 8 here, and 7 registers make it one.
#define KVRM_KEEP_REGISTERS(name, restore_rdx)                                                              \
  asm(".pushsection .text." name ",\"ax\",@progbits\n.balign 16\n.hidden " name "\n.globl " name "\n" name  \
      ":\n"                                                                                                 \
      "pushq %rdx\npushq %rcx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\nsubq $256, %rsp\n" \
      ".irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nmovups %xmm\\number, 16*\\number(%rsp)\n.endr\n"  \
      "callq *%r11\n"                                                                                       \
      ".irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nmovups 16*\\number(%rsp), %xmm\\number\n.endr\n"  \
      "addq $256, %rsp\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rcx\n" restore_rdx       \
      "\nretq\n.popsection\n")
#define KVRM_DEFINE_KEEP_REGISTERS                         \
  KVRM_KEEP_REGISTERS("kvrm_keep_registers", "popq %rdx"); \
  KVRM_KEEP_REGISTERS("kvrm_keep_registers_but_rdx", "popq %r11");

// The function `name` with that convention, where its result takes one register, and where it takes two.
#define KVRM_KEPT_CALL_AS(prefix, name, keep)                                                                   \
  asm(".pushsection .text." #prefix #name ",\"ax\",@progbits\n.hidden " #prefix #name "\n.globl " #prefix #name \
      "\n" #prefix #name ":\nleaq " #name "(%rip), %r11\njmp " keep "\n.popsection\n");                         \
  extern "C" __attribute__((visibility("hidden"))) void prefix##name();
#define KVRM_KEPT_CALL(name)                                  \
  KVRM_KEPT_CALL_AS(kvrm_keeps_, name, "kvrm_keep_registers") \
  KVRM_KEPT_CALL_AS(kvrm_keeps_but_rdx_, name, "kvrm_keep_registers_but_rdx")

#else
#define KVRM_DEFINE_KEEP_REGISTERS
#define KVRM_KEPT_CALL(name)
#define KVRM_KEPT_CALL_SYMBOLS(symbol, name)
#endif
