// The semantics as a library of functions for the stencil compiler, one for each row and variant. Compiled to bitcode
// only, never linked.
#include "interpreter/freestanding/variants.h"
#include "memory/freestanding/paged.h"
#if defined(KVRM_WINDOW_STENCILS)
#include "translator/freestanding/window_links.h"
#endif

namespace kvrm::translator {

// Only what the TLB holds. Anything else is a fallback: the interpreter runs the instruction, with the whole memory.
struct HitMemory {
  memory::Tlb* tlb;

  template <class T>
  KVRM_INLINE Trap load(Cpu&, u64 address, T& value) {
    const memory::TlbEntry& entry = tlb->at(address);
    if (KVRM_UNLIKELY(memory::last_page<T>(address) != entry.read_tag)) return Trap::kFallback;
    __builtin_memcpy(&value, memory::host_bytes(entry, address), sizeof(T));
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap store(Cpu&, u64 address, const T& value) {
    const memory::TlbEntry& entry = tlb->at(address);
    if (KVRM_UNLIKELY(memory::last_page<T>(address) != entry.write_tag)) return Trap::kFallback;
    __builtin_memcpy(memory::host_bytes(entry, address), &value, sizeof(T));
    return Trap::kNone;
  }

  template <class T>
  KVRM_INLINE Trap compare_exchange(Cpu&, u64 address, const T& expected, const T& desired, T& observed) {
    const memory::TlbEntry& entry = tlb->at(address);
    const u64 page = memory::last_page<T>(address);
    if (KVRM_UNLIKELY(page != entry.write_tag || page != entry.read_tag)) return Trap::kFallback;
    u8* bytes = memory::host_bytes(entry, address);
    __builtin_memcpy(&observed, bytes, sizeof(T));
    if (observed == expected) __builtin_memcpy(bytes, &desired, sizeof(T));
    return Trap::kNone;
  }

  // Lanes that share their memory have no stencils.
  KVRM_INLINE void fence() {}
};

template <class Op, u32 kVariant>
Trap run_variant(Cpu* cpu, memory::Tlb* tlb, [[maybe_unused]] u8* window, u64 bits) {
  Op op;
  static_assert(sizeof(op) <= sizeof(bits));
  __builtin_memcpy(&op, &bits, sizeof(op));
  interpreter::Variants<Op, true>::template fix<kVariant>(op);
#if defined(KVRM_WINDOW_STENCILS)
  WindowMemory<HitMemory> memory{window, {tlb}};
#else
  HitMemory memory{tlb};
#endif
  return semantics::Meaning<Op>::execute(*cpu, memory, op);
}

using Function = Trap (*)(Cpu*, memory::Tlb*, u8*, u64);

// The functions of a row, by variant. The stencil compiler finds them through kvrm_variants_ROW.
template <class Op, class Integer, Integer... kVariant>
struct VariantsOf {
  static constexpr Function functions[] = {&run_variant<Op, kVariant>...};
};
template <class Op>
struct Bound {
  template <class Integer, Integer... kVariant>
  using Variants = VariantsOf<Op, Integer, kVariant...>;
};
template <class Op>
using AllVariants =
    __make_integer_seq<Bound<Op>::template Variants, u32, interpreter::Variants<Op, true>::kCombinations>;

}  // namespace kvrm::translator

#define KVRM_ROW_VARIANTS(name)                                                       \
  extern "C" constinit const kvrm::translator::Function* const kvrm_variants_##name = \
      kvrm::translator::AllVariants<kvrm::isa::name>::functions;
KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_ROW_VARIANTS)
