// One limit for a guest whose pages are on another device: each side knows what the other one holds.
#pragma once

#include <algorithm>

#include "memory/account.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

// Tells the device what the host holds, and the account what the device does. Nothing where both are the host.
inline void share_limit(memory::Account& account, memory::GuestMemory& memory) {
  if (account.limit() == ~u64{0}) return;  // no limit that could be shared
  const u64 held = std::min(account.limit(), account.held());
  account.set_elsewhere(memory.set_limit(account.limit() - held));
  account.set_told(held);
}

// The same after a call: of more at once, of less when it is much. Every time is a round trip to the device.
inline void share_limit_if_changed(memory::Account& account, memory::GuestMemory& memory) {
  constexpr u64 kMuch = 64 << 10;
  const auto pages = [](u64 bytes) { return (bytes + memory::kPageSize - 1) / memory::kPageSize; };
  const u64 held = account.held(), told = account.told();
  if (pages(held) > pages(told) || held + kMuch <= told) share_limit(account, memory);
}

}  // namespace kvrm::linux_abi
