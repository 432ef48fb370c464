#include "backend/cuda/images.h"

// backend/cuda/images.inc is written by CMake: KVRM_PTX(path) and KVRM_CUBIN(compute capability, path) for what was
// built of the kernel, KVRM_LINKABLE(compute capability, path) for relocatable cubins, KVRM_VERIFY_PTX(path) for
// verify_dispatch.cpp; or KVRM_NO_PTX(why). The assembler copies the files in.
#define KVRM_EMBED(symbol, path)                                                                                \
  asm(".pushsection .rodata.kvrm_gpu,\"a\",@progbits\n.balign 64\n.hidden " symbol "_begin\n.globl " symbol     \
      "_begin\n" symbol "_begin:\n.incbin \"" path "\"\n.hidden " symbol "_end\n.globl " symbol "_end\n" symbol \
      "_end:\n.byte 0\n.popsection\n");
#define KVRM_DECLARE(symbol)                                                         \
  extern "C" __attribute__((visibility("hidden"))) const std::byte symbol##_begin[]; \
  extern "C" __attribute__((visibility("hidden"))) const std::byte symbol##_end[];

#define KVRM_NO_PTX(why)
#define KVRM_PTX(path)             \
  KVRM_EMBED("kvrm_gpu_ptx", path) \
  KVRM_DECLARE(kvrm_gpu_ptx)
#define KVRM_CUBIN(compute, path)              \
  KVRM_EMBED("kvrm_gpu_cubin_" #compute, path) \
  KVRM_DECLARE(kvrm_gpu_cubin_##compute)
#define KVRM_LINKABLE(compute, path)              \
  KVRM_EMBED("kvrm_gpu_linkable_" #compute, path) \
  KVRM_DECLARE(kvrm_gpu_linkable_##compute)
#define KVRM_VERIFY_PTX(path)             \
  KVRM_EMBED("kvrm_gpu_verify_ptx", path) \
  KVRM_DECLARE(kvrm_gpu_verify_ptx)
#include "backend/cuda/images.inc"
#undef KVRM_NO_PTX
#undef KVRM_PTX
#undef KVRM_CUBIN
#undef KVRM_LINKABLE
#undef KVRM_VERIFY_PTX

namespace kvrm::backend::cuda {
namespace {

constexpr int kVerify = -1;
constexpr int kLinkable = 1000;  // is added to the compute capability

struct Image {
  int compute;  // 0 for PTX, kVerify for verify_dispatch.cpp
  const std::byte* begin;
  const std::byte* end;
  const char* reason;  // why there is none
};

const Image kImages[] = {
#define KVRM_NO_PTX(why) {0, nullptr, nullptr, why},
#define KVRM_PTX(path) {0, kvrm_gpu_ptx_begin, kvrm_gpu_ptx_end, ""},
#define KVRM_CUBIN(compute, path) {compute, kvrm_gpu_cubin_##compute##_begin, kvrm_gpu_cubin_##compute##_end, ""},
#define KVRM_LINKABLE(compute, path) \
  {kLinkable + (compute), kvrm_gpu_linkable_##compute##_begin, kvrm_gpu_linkable_##compute##_end, ""},
#define KVRM_VERIFY_PTX(path) {kVerify, kvrm_gpu_verify_ptx_begin, kvrm_gpu_verify_ptx_end, ""},
#include "backend/cuda/images.inc"
};

}  // namespace

std::span<const std::byte> ptx() { return {kImages[0].begin, kImages[0].end}; }

std::span<const std::byte> verify_ptx() {
  for (const Image& image : kImages) {
    if (image.compute == kVerify) return {image.begin, image.end};
  }
  return {};
}

namespace {
std::optional<std::span<const std::byte>> image_for(int compute) {
  for (const Image& image : kImages) {
    if (image.compute != 0 && image.compute == compute) return std::span(image.begin, image.end);
  }
  return std::nullopt;
}
}  // namespace

std::optional<std::span<const std::byte>> cubin_for(int major, int minor) { return image_for(major * 10 + minor); }

std::optional<std::span<const std::byte>> linkable_for(int major, int minor) {
  return image_for(kLinkable + major * 10 + minor);
}

unsigned kernel_registers() { return KVRM_KERNEL_REGISTERS; }

Error no_linkable_error(int compute) {
  return Error{"this build has no kernel for sm_" + std::to_string(compute) +
               " that code can be linked to (KVRM_LINKABLE)"};
}

Error no_code_error() { return Error{std::string("this build has no GPU code: ") + kImages[0].reason}; }

}  // namespace kvrm::backend::cuda
