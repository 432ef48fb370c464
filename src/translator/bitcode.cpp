#include "translator/bitcode.h"

#include <cstddef>

#include "translator/host/exits.h"
#include "translator/host/kept_calls.h"

// The build writes translator/cold_functions.inc: KVRM_COLD_FUNCTION(name) for each function of the semantics that
// regions call. KVRM_BITCODE and the like are files, which the assembler copies in.
#define KVRM_EMBED(name, file)                                                                              \
  asm(".pushsection .rodata." #name ",\"a\",@progbits\n.balign 16\n.hidden " #name "_begin\n.globl " #name  \
      "_begin\n" #name "_begin:\n.incbin \"" file "\"\n.hidden " #name "_end\n.globl " #name "_end\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                                                     \
  extern "C" __attribute__((visibility("hidden"))) const char name##_begin[], name##_end[]
KVRM_EMBED(kvrm_rows, KVRM_BITCODE);
KVRM_EMBED(kvrm_shared_rows, KVRM_SHARED_BITCODE);
KVRM_EMBED(kvrm_window_rows, KVRM_WINDOW_BITCODE);
KVRM_EMBED(kvrm_loop_rows, KVRM_LOOP_BITCODE);
KVRM_EMBED(kvrm_gpu_rows, KVRM_GPU_BITCODE);
KVRM_EMBED(kvrm_stencils, KVRM_STENCILS);
KVRM_EMBED(kvrm_window_stencils, KVRM_WINDOW_STENCILS);

#define KVRM_ROWS_VERSION(text) static constexpr std::string_view kRowsVersion = text;
KVRM_DEFINE_KEEP_REGISTERS
#define KVRM_COLD_FUNCTION(name) \
  extern "C" void name();        \
  KVRM_KEPT_CALL(name)
#include "translator/cold_functions.inc"
#undef KVRM_COLD_FUNCTION
#undef KVRM_ROWS_VERSION
#define KVRM_ROWS_VERSION(text)

namespace kvrm::translator {

std::string_view rows_bitcode() { return {kvrm_rows_begin, static_cast<std::size_t>(kvrm_rows_end - kvrm_rows_begin)}; }

std::string_view shared_rows_bitcode() {
  return {kvrm_shared_rows_begin, static_cast<std::size_t>(kvrm_shared_rows_end - kvrm_shared_rows_begin)};
}

std::string_view window_rows_bitcode() {
  return {kvrm_window_rows_begin, static_cast<std::size_t>(kvrm_window_rows_end - kvrm_window_rows_begin)};
}

std::string_view loop_rows_bitcode() {
  return {kvrm_loop_rows_begin, static_cast<std::size_t>(kvrm_loop_rows_end - kvrm_loop_rows_begin)};
}

std::string_view gpu_rows_bitcode() {
  return {kvrm_gpu_rows_begin, static_cast<std::size_t>(kvrm_gpu_rows_end - kvrm_gpu_rows_begin)};
}

std::string_view stencils_table() {
  return {kvrm_stencils_begin, static_cast<std::size_t>(kvrm_stencils_end - kvrm_stencils_begin)};
}

std::string_view window_stencils_table() {
  return {kvrm_window_stencils_begin, static_cast<std::size_t>(kvrm_window_stencils_end - kvrm_window_stencils_begin)};
}

std::string_view rows_version() { return kRowsVersion; }

#define KVRM_HOST_SYMBOL(name) {#name, reinterpret_cast<void*>(&(name))},
const HostSymbol kHostSymbols[] = {
    KVRM_HOST_SYMBOL(kvrm_region_go) KVRM_HOST_SYMBOL(kvrm_region_pause) KVRM_HOST_SYMBOL(kvrm_region_trap)
        KVRM_HOST_SYMBOL(kvrm_region_elsewhere) KVRM_HOST_SYMBOL(kvrm_region_other_fp_mode)
            KVRM_HOST_SYMBOL(kvrm_stencil_pause) KVRM_HOST_SYMBOL(kvrm_read_slow) KVRM_HOST_SYMBOL(kvrm_write_slow)
                KVRM_HOST_SYMBOL(kvrm_exchange_slow) KVRM_HOST_SYMBOL(kvrm_fence_slow)
#define KVRM_COLD_FUNCTION(name) KVRM_HOST_SYMBOL(name) KVRM_KEPT_CALL_SYMBOLS(KVRM_HOST_SYMBOL, name)
#include "translator/cold_functions.inc"
#undef KVRM_COLD_FUNCTION
                    {nullptr, nullptr},
};

}  // namespace kvrm::translator
