#include "translator/bitcode.h"

#include <cstddef>

#include "translator/host_exits.h"

// translator/cold_functions.inc is written when the bitcode is built: KVRM_COLD_FUNCTION(name) for each function of the
// semantics that regions call. KVRM_BITCODE is the file; the assembler copies it in.
asm(".pushsection .rodata.kvrm_rows,\"a\",@progbits\n.balign 16\n.hidden kvrm_rows_begin\n.globl kvrm_rows_begin\n"
    "kvrm_rows_begin:\n.incbin \"" KVRM_BITCODE
    "\"\n.hidden kvrm_rows_end\n.globl kvrm_rows_end\nkvrm_rows_end:\n.byte 0\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char kvrm_rows_begin[], kvrm_rows_end[];

#define KVRM_ROWS_VERSION(text) static constexpr std::string_view kRowsVersion = text;
#define KVRM_COLD_FUNCTION(name) extern "C" void name();
#include "translator/cold_functions.inc"
#undef KVRM_COLD_FUNCTION
#undef KVRM_ROWS_VERSION
#define KVRM_ROWS_VERSION(text)

namespace kvrm::translator {

std::string_view rows_bitcode() { return {kvrm_rows_begin, static_cast<std::size_t>(kvrm_rows_end - kvrm_rows_begin)}; }

std::string_view rows_version() { return kRowsVersion; }

#define KVRM_HOST_SYMBOL(name) {#name, reinterpret_cast<void*>(&(name))},
const HostSymbol kHostSymbols[] = {
    KVRM_HOST_SYMBOL(kvrm_region_go) KVRM_HOST_SYMBOL(kvrm_region_pause) KVRM_HOST_SYMBOL(kvrm_region_trap)
        KVRM_HOST_SYMBOL(kvrm_region_elsewhere) KVRM_HOST_SYMBOL(kvrm_region_unusual) KVRM_HOST_SYMBOL(kvrm_read_slow)
            KVRM_HOST_SYMBOL(kvrm_write_slow) KVRM_HOST_SYMBOL(kvrm_exchange_slow) KVRM_HOST_SYMBOL(kvrm_fence_slow)
#define KVRM_COLD_FUNCTION(name) KVRM_HOST_SYMBOL(name)
#include "translator/cold_functions.inc"
#undef KVRM_COLD_FUNCTION
                {nullptr, nullptr},
};

}  // namespace kvrm::translator
