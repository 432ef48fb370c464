#include "symbols/built_in.h"

#include <cstddef>

// KVRM_SYMBOLS_INDEX is a file, which the assembler copies in; the digest tells ccache which.
asm("/* " KVRM_SYMBOLS_DIGEST
    " */\n.pushsection .rodata.kvrm_symbols,\"a\",@progbits\n.balign 16\n.hidden kvrm_symbols_begin\n"
    ".globl kvrm_symbols_begin\nkvrm_symbols_begin:\n.incbin \"" KVRM_SYMBOLS_INDEX
    "\"\n.hidden kvrm_symbols_end\n.globl kvrm_symbols_end\nkvrm_symbols_end:\n.byte 0\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const unsigned char kvrm_symbols_begin[], kvrm_symbols_end[];

namespace kvrm::symbols {

std::span<const u8> built_in_index() {
  return {kvrm_symbols_begin, static_cast<std::size_t>(kvrm_symbols_end - kvrm_symbols_begin)};
}

}  // namespace kvrm::symbols
