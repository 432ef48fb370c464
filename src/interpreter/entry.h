// The shape of decoded code: one entry per word of a page, holding the function that runs it and its operands.
#pragma once

#include "base/cpu.h"
#include "memory/mmu.h"
#include "memory/window.h"

namespace kvrm::interpreter {

struct Entry;
struct Context;

// What a handler returns when it does not continue by itself: the next entry, or null to leave the loop.
struct Next {
  const Entry* entry;
  i64 biased_budget;
};

// With clang every handler ends in a tail call of the next one, so the host's branch predictor sees one indirect jump
// per guest instruction, and the five arguments never leave their registers. Other compilers return to a small loop.
#if defined(__clang__) && __has_cpp_attribute(clang::musttail)
#define KVRM_TAIL_CALLS 1
#else
#define KVRM_TAIL_CALLS 0
#endif
// clang cannot combine that calling convention with the address sanitizer's stack frames.
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

// Handlers take the state by an address in its middle: general registers are within a signed byte of it, which makes
// machine code shorter.
struct StateBase;
inline constexpr i64 kStateBias = 128;
KVRM_INLINE Cpu* state_at(StateBase* base) { return reinterpret_cast<Cpu*>(reinterpret_cast<u8*>(base) + -kStateBias); }
KVRM_INLINE StateBase* base_of(Cpu* cpu) {
  return reinterpret_cast<StateBase*>(reinterpret_cast<u8*>(cpu) + kStateBias);
}

// biased_budget is the instruction budget in units of sizeof(Entry), plus the address of the entry. Moving on to the
// next entry so uses up one instruction without any work; only branches adjust it. The entry comes first: x86-64 needs
// a byte more for each access through the register of the first argument.
typedef Next (*Handler)(const Entry* entry, StateBase* state, Context* context, i64 biased_budget,
                        u8* window) KVRM_HANDLER;
// The arguments of that type, by number.
enum HandlerArgument : u32 { kEntryArgument, kStateArgument, kContextArgument, kBudgetArgument, kWindowArgument };

struct Entry {
  Handler run;
  u64 operands;  // the row's operand struct
};
static_assert(sizeof(Entry) == 16);

inline constexpr u32 kWordsPerPage = 1024;
inline constexpr i64 kBudgetPerInstruction = sizeof(Entry);
// Between two checks of the budget at most one page of sequential code runs, or a region and then such a page. All
// tiers check for the same amount, regions up to the usual size included. Otherwise bursts would mostly end before
// regions, and traces, which begin where bursts end, would see more of regions than there is.
inline constexpr i64 kStraightLine = (kWordsPerPage + 1) * kBudgetPerInstruction;
inline constexpr i64 kUsualRegion = 256 * kBudgetPerInstruction;
inline constexpr i64 kCheckInterval = kStraightLine + kUsualRegion;

struct DecodedPage {
  Entry entries[kWordsPerPage + 1];  // the last one continues in the following page
  Handler plain[kWordsPerPage];  // of each word alone, where translated code has replaced its entry's
};

// What handlers use besides the registers.
struct Context {
  // The page being run: its guest address and its entries.
  u64 page_address;
  const Entry* entries;
  // Guest address 0 on the host, for code that accesses memory through the window; null: no such code may run.
  u8* window;
  u64 outside_window = ~(memory::Window::kBytes - 1);  // bits that addresses in a window do not have

  // A direct-mapped cache of entered pages.
  struct CachedPage {
    u64 address;  // or kNoAddress
    const Entry* entries;
  };
  // Bit 2 is part of the index into a page, so that no pc, however misaligned, compares equal to it.
  static constexpr u64 kNoAddress = 4;
  static constexpr u32 kCachedPages = 1024;
  CachedPage pages[kCachedPages];

  memory::Tlb* translations;
  memory::Mmu* mmu;
  class PredecodeCache* cache;

  // The entry pc of the region that last paused because the budget ended; kNoAddress: not in the last burst.
  u64 paused_region;

  // The virtual clock is clock_base plus the instructions retired, unless the options select the host's clock.
  u64 retired_at_zero_budget;  // retired = this - remaining
  u64 clock_base;
  bool host_clock;

  // Why and where the loop was left.
  Trap trap;
  bool step_next;  // the next instruction must be run by its own handler, even at a region entry
  const Entry* stopped_at;

  // A fetch that failed continues here, so that the branch before it retires like any other.
  Entry fetch_fault;
  Trap fetch_trap;

  class BulkSteps* bulk_steps;  // null: no entry asks for them
};

// The address of the entry itself, to which budgets are biased.
KVRM_INLINE i64 host_address(const Entry* entry) { return reinterpret_cast<i64>(entry); }
KVRM_INLINE const Entry* entry_at(i64 address) { return reinterpret_cast<const Entry*>(address); }

// The guest address of an entry of the current page.
KVRM_INLINE u64 address_of(const Context& context, const Entry* entry) {
  return context.page_address + static_cast<u64>((host_address(entry) - host_address(context.entries)) >> 2);
}

KVRM_INLINE i64 remaining(const Entry* entry, i64 biased_budget) {
  return (biased_budget - host_address(entry)) / kBudgetPerInstruction;
}

}  // namespace kvrm::interpreter
