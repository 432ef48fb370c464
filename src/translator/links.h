// What code of a region needs beside the registers. Freestanding: the bitcode of the rows is built from this.
#pragma once

#include "memory/paged.h"

namespace kvrm::translator {

// A region's own copy; the stitcher keeps it in SSA values.
struct Links {
  memory::TranslationCache* translations;
  void* space;
};

// The ways out of the fast path, defined by the host (host_exits.cpp). They keep all general registers, so that a
// region's registers do not depend on calls that hardly ever happen. A store that would change code does nothing and
// gives kNotHere: the interpreter runs that instruction.
#if defined(__x86_64__) && defined(__clang__)
#define KVRM_LINK __attribute__((preserve_most))
#else
#define KVRM_LINK
#endif
extern "C" {
KVRM_LINK memory::SlowAccess kvrm_read_slow(void* space, memory::TranslationCache* cache, u64 address, void* to,
                                            u32 size);
KVRM_LINK memory::SlowAccess kvrm_write_slow(void* space, memory::TranslationCache* cache, u64 address,
                                             const void* from, u32 size);
KVRM_LINK memory::SlowAccess kvrm_exchange_slow(void* space, memory::TranslationCache* cache, u64 address,
                                                const void* expected, const void* desired, void* observed, u32 size);
KVRM_LINK void kvrm_fence_slow(void* space, memory::TranslationCache* cache);
}

// The backing of memory::Paged inside a region.
struct LinkedBacking {
  Links* links;

  KVRM_INLINE memory::SlowAccess read_slow(memory::TranslationCache& cache, u64 address, void* to, u32 size) {
    return kvrm_read_slow(links->space, &cache, address, to, size);
  }
  KVRM_INLINE memory::SlowAccess write_slow(memory::TranslationCache& cache, u64 address, const void* from, u32 size) {
    return kvrm_write_slow(links->space, &cache, address, from, size);
  }
  KVRM_INLINE memory::SlowAccess exchange_slow(memory::TranslationCache& cache, u64 address, const void* expected,
                                               const void* desired, void* observed, u32 size) {
    return kvrm_exchange_slow(links->space, &cache, address, expected, desired, observed, size);
  }
  KVRM_INLINE void fence_slow(memory::TranslationCache& cache) { kvrm_fence_slow(links->space, &cache); }
};

}  // namespace kvrm::translator
