// The shape of decoded code: one entry per word of a page, holding the function that runs it and its operands.
#pragma once

#include "base/cpu.h"
#include "memory/address_space.h"

namespace kvrm::interpreter {

struct Entry;
struct Context;

// What a handler returns when it does not simply go on: where to continue, or no entry to leave the loop.
struct Next {
  const Entry* entry;
  i64 credit;
};

// With clang every handler ends in a tail call of the next one, so the host's branch predictor sees one indirect jump
// per guest instruction, and the four arguments never leave their registers. Other compilers return to a small loop.
#if defined(__clang__) && __has_cpp_attribute(clang::musttail)
#define KVRM_TAIL_CALLS 1
#else
#define KVRM_TAIL_CALLS 0
#endif
// The address sanitizer's stack frames are more than clang can do with that convention.
#if KVRM_TAIL_CALLS && defined(__x86_64__)
#if __has_attribute(preserve_none) && !__has_feature(address_sanitizer)
#define KVRM_HANDLER __attribute__((preserve_none))
#endif
#endif
#ifdef KVRM_HANDLER
#define KVRM_HANDLER_KEEPS_NOTHING 1
#else
#define KVRM_HANDLER
#define KVRM_HANDLER_KEEPS_NOTHING 0
#endif

// credit is how many instructions may still retire, in units that make counting free: credit - address of the entry
// is sizeof(Entry) times the remaining budget. Straight-line code moves the entry and so pays by itself.
typedef Next (*Handler)(Cpu* cpu, const Entry* entry, Context* context, i64 credit) KVRM_HANDLER;

struct Entry {
  Handler run;
  u64 operands;  // the row's operand struct
};
static_assert(sizeof(Entry) == 16);

inline constexpr u32 kWordsPerPage = 1024;
inline constexpr i64 kCreditPerInstruction = sizeof(Entry);
// Between two looks at the credit at most one page of straight-line code runs.
inline constexpr i64 kCheckInterval = (kWordsPerPage + 1) * kCreditPerInstruction;

struct DecodedPage {
  Entry entries[kWordsPerPage + 1];  // the last one leads to the following page
};

// What handlers need beside the registers.
struct Context {
  // The page being run: its guest address and its entries.
  u64 page_address;
  const Entry* entries;

  // Recently entered pages.
  struct CachedPage {
    u64 address;  // or kNoAddress
    const Entry* entries;
  };
  // Bit 2 is part of the index into a page, so that no pc, however misaligned, compares equal to it.
  static constexpr u64 kNoAddress = 4;
  static constexpr u32 kCachedPages = 256;
  CachedPage pages[kCachedPages];

  memory::TranslationCache* translations;
  memory::AddressSpace* space;
  class PredecodeCache* cache;

  // The entry pc of the region that last paused because the budget ended; kNoAddress: not in the last burst.
  u64 paused_region;

  // Time: the virtual clock is clock_base plus the instructions retired, unless the host's clock is asked for.
  u64 retired_at_credit_zero;  // retired = this - remaining
  u64 clock_base;
  bool host_clock;

  // How the loop was left.
  Trap trap;
  bool step_next;  // the next instruction must be run by its own handler, even if a region begins there
  const Entry* stopped_at;

  // A fetch that failed continues here, so that the branch before it retires like any other.
  Entry fetch_fault;
  Trap fetch_trap;
};

KVRM_INLINE i64 place(const Entry* entry) { return reinterpret_cast<i64>(entry); }
KVRM_INLINE const Entry* entry_at(i64 place) { return reinterpret_cast<const Entry*>(place); }

// The guest address of an entry of the current page.
KVRM_INLINE u64 address_of(const Context& context, const Entry* entry) {
  return context.page_address + static_cast<u64>((place(entry) - place(context.entries)) >> 2);
}

KVRM_INLINE i64 remaining(const Entry* entry, i64 credit) { return (credit - place(entry)) / kCreditPerInstruction; }

}  // namespace kvrm::interpreter
