// What a region needs beside the registers. Freestanding: part of the rows' bitcode.
#pragma once

#include "base/atomics.h"
#include "memory/freestanding/paged.h"
#include "memory/freestanding/shared_bytes.h"

namespace kvrm::translator {

// A region's own copy; the stitcher keeps it in SSA values.
struct Links {
  memory::Tlb* translations;
  void* mmu;
  u8* window;  // guest address 0 on the host; null: there is none
};

// The slow paths, defined by the host (host/exits.cpp). They preserve all general registers, so that these rare calls
// do not affect a region's register allocation. A store that would change code does nothing and returns kFallback: the
// interpreter runs that instruction.
#if defined(__x86_64__) && defined(__clang__)
#define KVRM_LINK __attribute__((preserve_most))
#else
#define KVRM_LINK
#endif
extern "C" {
KVRM_LINK memory::SlowAccess kvrm_read_slow(void* mmu, memory::Tlb* cache, u64 address, void* to, u32 size);
KVRM_LINK memory::SlowAccess kvrm_write_slow(void* mmu, memory::Tlb* cache, u64 address, const void* from, u32 size);
KVRM_LINK memory::SlowAccess kvrm_exchange_slow(void* mmu, memory::Tlb* cache, u64 address, const void* expected,
                                                const void* desired, void* observed, u32 size);
KVRM_LINK void kvrm_fence_slow(void* mmu, memory::Tlb* cache);
}

// The backing of memory::Paged inside a region.
struct LinkedBacking {
  Links* links;

  KVRM_INLINE memory::SlowAccess read_slow(memory::Tlb& cache, u64 address, void* to, u32 size) {
    return kvrm_read_slow(links->mmu, &cache, address, to, size);
  }
  KVRM_INLINE memory::SlowAccess write_slow(memory::Tlb& cache, u64 address, const void* from, u32 size) {
    return kvrm_write_slow(links->mmu, &cache, address, from, size);
  }
  KVRM_INLINE memory::SlowAccess exchange_slow(memory::Tlb& cache, u64 address, const void* expected,
                                               const void* desired, void* observed, u32 size) {
    return kvrm_exchange_slow(links->mmu, &cache, address, expected, desired, observed, size);
  }
  KVRM_INLINE void fence_slow(memory::Tlb& cache) { kvrm_fence_slow(links->mmu, &cache); }
};

// The memory of a lane that shares it with others: aligned accesses are relaxed atomics, as the architecture requires,
// with the same pieces as memory::SharedBytes uses elsewhere.
struct LinkedSharedMemory {
  Links* links;

  template <class T>
  KVRM_INLINE Trap load(Cpu& cpu, u64 address, T& value) {
    if constexpr (Pieces<T>::kCount != 0) {
      const memory::TlbEntry& entry = cache().at(address);
      if (KVRM_LIKELY(is_whole<T>(address) && tag(address) == entry.read_tag)) {
        value = Pieces<T>::load(host(entry, address));
        return Trap::kNone;
      }
    }
    LinkedBacking backing{links};
    return otherwise(backing).load(cpu, address, value);
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu& cpu, u64 address, const T& value) {
    if constexpr (Pieces<T>::kCount != 0) {
      const memory::TlbEntry& entry = cache().at(address);
      if (KVRM_LIKELY(is_whole<T>(address) && tag(address) == entry.write_tag)) {
        Pieces<T>::store(host(entry, address), value);
        return Trap::kNone;
      }
    }
    LinkedBacking backing{links};
    return otherwise(backing).store(cpu, address, value);
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu& cpu, u64 address, const T& expected, const T& desired, T& observed) {
    if constexpr (Pieces<T>::kCount == 1) {
      const memory::TlbEntry& entry = cache().at(address);
      if (KVRM_LIKELY(is_whole<T>(address) && tag(address) == entry.write_tag && entry.read_tag == entry.write_tag)) {
        observed = Pieces<T>::compare_exchange(host(entry, address), expected, desired);
        return Trap::kNone;
      }
    }
    LinkedBacking backing{links};
    return otherwise(backing).compare_exchange(cpu, address, expected, desired, observed);
  }

  KVRM_INLINE void fence() { kvrm_fence_slow(links->mmu, &cache()); }

 private:
  template <class T>
  using Pieces = memory::SharedPieces<T>;

  // In whole pieces, and in one page.
  template <class T>
  static KVRM_INLINE bool is_whole(u64 address) {
    const bool is_aligned = address % sizeof(typename Pieces<T>::Piece) == 0;
    const u64 last = (address & ~memory::kPageMask) + sizeof(T) - 1;  // from the start of the page
    return Pieces<T>::kCount == 1 ? is_aligned : is_aligned && last <= ~memory::kPageMask;
  }
  static KVRM_INLINE u64 tag(u64 address) { return (address & memory::kPageMask) | memory::kSharedPage; }
  static KVRM_INLINE u8* host(const memory::TlbEntry& entry, u64 address) {
    return reinterpret_cast<u8*>(address + entry.host_addend);
  }
  KVRM_INLINE memory::Tlb& cache() const { return *links->translations; }
  // As if memory were private: the lookup misses, and the slow path does the access.
  KVRM_INLINE memory::Paged<LinkedBacking> otherwise(LinkedBacking& backing) const {
    return {links->translations, &backing};
  }
};

}  // namespace kvrm::translator
