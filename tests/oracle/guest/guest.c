/* Runs a batch of cases under QEMU: guest INPUT OUTPUT.
 *
 * Every case ends in a signal, if only at the BRK after its last word. The handler stores the interrupted
 * context as the result of the case, mends the data memory, writes the next case into the context and
 * returns into it: one signal a case, and nothing of the harness runs between the input and the result.
 * No library: a case owns every register, TPIDR_EL0 included. */
#include "../format.h"

enum { kOpenAt = 56, kExitGroup = 94, kSigAltStack = 132, kRtSigAction = 134 };
enum { kLseek = 62, kMunmap = 215, kMmap = 222, kMprotect = 226 };
enum { kSigIll = 4, kSigTrap = 5, kSigBus = 7, kSigSegv = 11 };
enum { kProtNone = 0, kProtRead = 1, kProtWrite = 2, kProtExec = 4 };
enum { kMapShared = 1, kMapPrivate = 2, kMapFixed = 0x10, kMapAnonymous = 0x20 };

/* Where the batch files are mapped: far from everything a case's registers are likely to name. */
#define INPUT_ADDRESS 0x5b32100000ull
#define OUTPUT_ADDRESS 0x5d32100000ull

struct KernelAction {
  void (*handler)(int, const uint8_t*, void*);
  uint64_t flags;
  void (*restorer)(void);
  uint64_t mask;
};

struct AlternateStack {
  void* pointer;
  int32_t flags;
  uint64_t size;
};

/* struct ucontext of arm64 Linux, as far as it is used. */
struct Context {
  uint64_t flags;
  void* link;
  struct AlternateStack stack;
  uint64_t mask;
  uint8_t unused[120];
  struct {
    uint64_t fault_address;
    uint64_t x[31];
    uint64_t sp;
    uint64_t pc;
    uint64_t pstate;
    uint8_t records[4096] __attribute__((aligned(16)));
  } machine __attribute__((aligned(16)));
};

#define FPSIMD_MAGIC 0x46508001u
struct FpSimdRecord {
  uint32_t magic, size;
  uint32_t fpsr, fpcr;
  uint64_t v[32][2];
};

static const struct OracleInput* input_;
static struct OracleOutput* output_;
static const struct OracleGroup* group_;
static const struct OracleState* states_;
static uint64_t next_;           /* the case to start next */
static int running_;             /* a case has been started */
static int draining_;            /* all cases are done, but QEMU may still die of the last one (qemu.cpp) */
static uint32_t left_in_group_;  /* cases of the group still to start */
static uint32_t words_written_; /* words of a group now in the code page */
static uint8_t stack_[1 << 16] __attribute__((aligned(16), used));
static uint8_t signal_stack_[1 << 16] __attribute__((aligned(16)));

static long call(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

static void stop(int status) {
  for (;;) call(kExitGroup, status, 0, 0, 0, 0, 0);
}

static void* map(uint64_t address, uint64_t size, int protection, int flags, int file) {
  const long where = call(kMmap, (long)address, (long)size, protection, flags | kMapFixed, file, 0);
  if (where != (long)address) stop(3);
  return (void*)where;
}

/* gcc may call these for loops and assignments. */
void* memcpy(void* to, const void* from, unsigned long size) {
  uint8_t* out = to;
  const uint8_t* in = from;
  for (; size >= 8; size -= 8, in += 8, out += 8) *(uint64_t*)out = *(const uint64_t*)in;
  while (size--) *out++ = *in++;
  return to;
}
void* memset(void* to, int value, unsigned long size) {
  volatile uint8_t* out = to;
  while (size--) *out++ = (uint8_t)value;
  return to;
}

static struct FpSimdRecord* fpsimd(struct Context* context) {
  struct FpSimdRecord* record = (struct FpSimdRecord*)context->machine.records;
  if (record->magic != FPSIMD_MAGIC) stop(4);
  return record;
}

/* Stores what the case changed in one writable page and puts the old bytes back. */
static void mend_page(uint32_t page, uint32_t* count) {
  uint64_t* now = (uint64_t*)(ORACLE_DATA_BASE + page * ORACLE_PAGE);
  const uint64_t* before = (const uint64_t*)((const uint8_t*)input_ + input_->memory_offset + page * ORACLE_PAGE);
  struct OracleBlock* blocks = (struct OracleBlock*)((uint8_t*)output_ + output_->blocks_offset);
  for (uint32_t i = 0; i < ORACLE_PAGE / 8; i += 8) {
    const uint64_t difference = (now[i] ^ before[i]) | (now[i + 1] ^ before[i + 1]) | (now[i + 2] ^ before[i + 2]) |
                                (now[i + 3] ^ before[i + 3]) | (now[i + 4] ^ before[i + 4]) |
                                (now[i + 5] ^ before[i + 5]) | (now[i + 6] ^ before[i + 6]) |
                                (now[i + 7] ^ before[i + 7]);
    if (!difference) continue;
    for (uint32_t j = i; j < i + 8; j += 2) {
      if (now[j] == before[j] && now[j + 1] == before[j + 1]) continue;
      if (output_->blocks_used == output_->blocks_capacity) stop(5);
      struct OracleBlock* block = &blocks[output_->blocks_used++];
      block->offset = page * ORACLE_PAGE + j * 8;
      block->bytes[0] = now[j];
      block->bytes[1] = now[j + 1];
      now[j] = before[j];
      now[j + 1] = before[j + 1];
      ++*count;
    }
  }
}

static void store_result(int signal, const uint8_t* info, struct Context* context) {
  struct OracleResult* results = (struct OracleResult*)((uint8_t*)output_ + output_->results_offset);
  struct OracleResult* result = &results[next_ - 1];
  struct OracleState* state = &result->state;
  const struct FpSimdRecord* vectors = fpsimd(context);
  result->signal = signal;
  result->code = *(const int32_t*)(info + 8);
  result->fault_address = *(const uint64_t*)(info + 16);
  memcpy(state->x, context->machine.x, sizeof state->x);
  state->sp = context->machine.sp;
  state->pc = context->machine.pc;
  state->nzcv = (uint32_t)context->machine.pstate & 0xf0000000u;
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(state->tpidr));
  state->fpcr = vectors->fpcr;
  state->fpsr = vectors->fpsr;
  state->ssbs = (uint32_t)(context->machine.pstate >> 12) & 1;
  memcpy(state->v, vectors->v, sizeof state->v);
  result->first_block = (uint32_t)output_->blocks_used;
  uint32_t count = 0;
  for (uint32_t page = 0; page < ORACLE_DATA_PAGES; ++page) {
    if (page != ORACLE_PAGE_READ_ONLY && page != ORACLE_PAGE_HOLE && page != ORACLE_PAGE_NONE) {
      mend_page(page, &count);
    }
  }
  result->block_count = count;
  output_->finished = next_;
}

static void write_words(const struct OracleGroup* group) {
  uint32_t* code = (uint32_t*)ORACLE_CODE_ENTRY;
  const uint32_t first = (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4;
  uint32_t i = 0;
  for (; i < group->word_count; ++i) code[i] = group->words[i];
  for (; i < words_written_; ++i) code[i] = ORACLE_FILLER(first + i);
  words_written_ = group->word_count;
}

static void start_case(struct Context* context) {
  if (next_ == input_->case_count) {
    draining_ = 1;
    context->machine.pc = ORACLE_CODE_BASE;
    return;
  }
  while (left_in_group_ == 0) {
    ++group_;
    left_in_group_ = group_->case_count;
    if (left_in_group_) write_words(group_);
  }
  --left_in_group_;
  const struct OracleState* state = &states_[next_++];
  struct FpSimdRecord* vectors = fpsimd(context);
  memcpy(context->machine.x, state->x, sizeof state->x);
  context->machine.sp = state->sp;
  context->machine.pc = state->pc;
  context->machine.pstate = (context->machine.pstate & ~0xf0001000ull) | state->nzcv | state->ssbs << 12;
  vectors->fpcr = state->fpcr;
  vectors->fpsr = state->fpsr;
  memcpy(vectors->v, state->v, sizeof state->v);
  __asm__ volatile("msr tpidr_el0, %0" : : "r"(state->tpidr));
}

static void on_signal(int signal, const uint8_t* info, void* opaque) {
  struct Context* context = opaque;
  if (draining_) stop(0);
  if (running_) store_result(signal, info, context);
  running_ = 1;
  start_case(context);
}

void return_from_signal(void);
__asm__(
    "return_from_signal:\n"
    "  mov x8, #139\n"
    "  svc #0\n");

static void make_world(void) {
  uint32_t* code =
      map(ORACLE_CODE_BASE, ORACLE_CODE_SIZE, kProtRead | kProtWrite | kProtExec, kMapPrivate | kMapAnonymous, -1);
  for (uint32_t i = 0; i < ORACLE_CODE_SIZE / 4; ++i) code[i] = ORACLE_FILLER(i);
  for (uint32_t page = 0; page < ORACLE_DATA_PAGES; ++page) {
    if (page == ORACLE_PAGE_HOLE) continue;
    const uint64_t address = ORACLE_DATA_BASE + page * ORACLE_PAGE;
    const int anonymous = kMapPrivate | kMapAnonymous;
    if (page == ORACLE_PAGE_NONE) {
      map(address, ORACLE_PAGE, kProtNone, anonymous, -1);
      continue;
    }
    uint8_t* bytes = map(address, ORACLE_PAGE, kProtRead | kProtWrite, anonymous, -1);
    memcpy(bytes, (const uint8_t*)input_ + input_->memory_offset + page * ORACLE_PAGE, ORACLE_PAGE);
    if (page == ORACLE_PAGE_READ_ONLY) call(kMprotect, (long)address, (long)ORACLE_PAGE, kProtRead, 0, 0, 0);
  }
}

static void take_signals(void) {
  const struct AlternateStack stack = {signal_stack_, 0, sizeof signal_stack_};
  if (call(kSigAltStack, (long)&stack, 0, 0, 0, 0, 0) != 0) stop(6);
  const uint64_t on_stack = 0x08000000, with_info = 4, with_restorer = 0x04000000;
  const struct KernelAction action = {on_signal, on_stack | with_info | with_restorer, return_from_signal, ~0ull};
  static const int signals[] = {kSigIll, kSigTrap, kSigBus, kSigSegv};
  for (uint32_t i = 0; i < 4; ++i) {
    if (call(kRtSigAction, signals[i], (long)&action, 0, 8, 0, 0) != 0) stop(7);
  }
}

/* A batch goes on where an earlier QEMU died. */
static void skip_finished(uint64_t finished) {
  next_ = finished;
  while (finished != 0) {
    ++group_;
    const uint64_t step = finished < group_->case_count ? finished : group_->case_count;
    left_in_group_ = group_->case_count - (uint32_t)step;
    finished -= step;
  }
}

static void* map_file(const char* path, int flags, int protection, uint64_t address) {
  const long file = call(kOpenAt, -100, (long)path, flags, 0, 0, 0);
  if (file < 0) stop(8);
  const long size = call(kLseek, file, 0, 2, 0, 0, 0);
  return map(address, (uint64_t)size, protection, kMapShared, (int)file);
}

void run(const uint64_t* arguments) {
  if (arguments[0] != 3) stop(2);
  input_ = map_file((const char*)arguments[2], 0, kProtRead, INPUT_ADDRESS);
  output_ = map_file((const char*)arguments[3], 2, kProtRead | kProtWrite, OUTPUT_ADDRESS);
  if (input_->magic != ORACLE_MAGIC) stop(9);
  group_ = (const struct OracleGroup*)((const uint8_t*)input_ + input_->groups_offset) - 1;
  states_ = (const struct OracleState*)((const uint8_t*)input_ + input_->states_offset);
  skip_finished(output_->finished);
  make_world();
  if (left_in_group_) write_words(group_);
  take_signals();
  /* QEMU puts the first stack at 2^38, an address that edge values reach: a case must find nothing there. */
  const uint64_t stack = (uint64_t)arguments & ~0x3fffffffull;
  call(kMunmap, (long)stack, (long)(((uint64_t)arguments & 0x3ffff000ull) + 0x1000), 0, 0, 0, 0);
  __asm__ volatile("brk #0");
  stop(10);
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  mov x0, sp\n"
    "  adrp x1, stack_\n"
    "  add x1, x1, :lo12:stack_\n"
    "  add sp, x1, #0x10, lsl #12\n"
    "  b run\n");
