// A hint that memory will be read soon. It never faults, whatever the address. Freestanding.
#pragma once

#include "base/types.h"

namespace kvrm {

// On a GPU: from device memory into the L2 cache.
KVRM_INLINE void prefetch_memory(const void* at) {
#if defined(__NVPTX__)
  asm volatile("prefetch.global.L2 [%0];" : : "l"((const __attribute__((address_space(1))) void*)at));
#else
  __builtin_prefetch(at);
#endif
}

}  // namespace kvrm
