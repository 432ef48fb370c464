// Small rules about addresses and protections that several memory calls share.
#pragma once

#include "base/cpu.h"
#include "base/types.h"
#include "memory/page.h"

namespace kvrm::linux_abi {

// PROT_READ, PROT_WRITE and PROT_EXEC have the values of memory::Protection. Without FEAT_EPAN the page
// tables know neither write-only nor execute-only user pages: both can be read.
inline u32 guest_protection(u32 prot) {
  const u32 bits = prot & (memory::kRead | memory::kWrite | memory::kExecute);
  return bits == 0 ? u32{memory::kNoAccess} : bits | memory::kRead;
}

// The calls that name existing memory accept addresses with a tag in the top byte.
inline u64 untagged(u64 address) { return reported_address(address); }

}  // namespace kvrm::linux_abi
