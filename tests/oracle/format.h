/* What the host tool and the guest program agree on: the map of a case's world and the two batch files.
 * Plain C, because the guest is compiled by the cross compiler without any library. */
#ifndef KVRM_TESTS_ORACLE_FORMAT_H
#define KVRM_TESTS_ORACLE_FORMAT_H

#include <stdint.h>

#define ORACLE_MAGIC 0x4b56524d4f524331ull /* "KVRMORC1" */

#define ORACLE_PAGE 4096ull

/* Code: four pages of BRK #n, n counting words, so that a literal load shows where it read. A case's words
 * stand in the middle. None of the bases is an edge value (a power of two, say) that a random register
 * would hit by chance. */
#define ORACLE_CODE_BASE 0x2150000000ull
#define ORACLE_CODE_PAGES 4u
#define ORACLE_CODE_SIZE (ORACLE_CODE_PAGES * ORACLE_PAGE)
#define ORACLE_CODE_ENTRY (ORACLE_CODE_BASE + 0x1800)
#define ORACLE_MAX_WORDS 64u
#define ORACLE_FILLER(index) (0xd4200000u | ((uint32_t)(index) & 0xffffu) << 5)

/* Data: unmapped | RW RW RO RW | unmapped | RW NONE | unmapped. Every kind of page has an edge with another. */
#define ORACLE_DATA_BASE 0x3170000000ull
#define ORACLE_DATA_PAGES 7u
#define ORACLE_DATA_SIZE (ORACLE_DATA_PAGES * ORACLE_PAGE)
#define ORACLE_PAGE_READ_ONLY 2u
#define ORACLE_PAGE_HOLE 4u
#define ORACLE_PAGE_NONE 6u

/* Sixteen bytes of data memory that a case changed. */
struct OracleBlock {
  uint64_t offset; /* from ORACLE_DATA_BASE, a multiple of 16 */
  uint64_t bytes[2];
};

struct OracleState {
  uint64_t x[31];
  uint64_t sp;
  uint64_t pc; /* of an input: always ORACLE_CODE_ENTRY */
  uint64_t tpidr;
  uint32_t nzcv; /* in bits 31..28 */
  uint32_t fpcr;
  uint32_t fpsr;
  uint32_t ssbs; /* PSTATE.SSBS, 0 or 1 */
  uint64_t v[32][2];
};

/* Words that share a code page and the cases that run them, one input state each. */
struct OracleGroup {
  uint32_t word_count;
  uint32_t case_count;
  uint32_t words[ORACLE_MAX_WORDS];
};

/* The input file: this header, the initial data memory, the groups, the states in group order. */
struct OracleInput {
  uint64_t magic;
  uint32_t group_count;
  uint32_t case_count;
  uint64_t memory_offset; /* ORACLE_DATA_SIZE bytes; those of the hole and of the NONE page are not used */
  uint64_t groups_offset;
  uint64_t states_offset;
};

struct OracleResult {
  int32_t signal; /* SIGTRAP, SIGILL, SIGSEGV or SIGBUS: every case ends in one. SIGABRT: QEMU itself failed */
  int32_t code;   /* si_code */
  uint64_t fault_address;
  uint32_t first_block;
  uint32_t block_count;
  struct OracleState state;
};

/* The output file: this header, the results, the changed blocks. The host makes it large enough. */
struct OracleOutput {
  uint64_t finished; /* cases so far: where a batch that hangs got stuck */
  uint64_t blocks_used;
  uint64_t blocks_capacity;
  uint64_t results_offset;
  uint64_t blocks_offset;
};

#endif
