// The lane's clock in nanoseconds.
#pragma once

#include "interpreter/entry.h"

namespace kvrm::interpreter {

KVRM_COLD u64 host_clock_ns();

// Virtual time: one retired instruction is one nanosecond, on top of what sleeping has added.
KVRM_INLINE u64 clock_now(const Context& context, i64 remaining) {
  if (KVRM_UNLIKELY(context.host_clock)) return host_clock_ns();
  return context.clock_base + (context.retired_at_zero_budget - static_cast<u64>(remaining));
}

}  // namespace kvrm::interpreter
