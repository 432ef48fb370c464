// The GPU code in this build: PTX for any GPU we support, and cubins, which need no compiling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "kvrm/result.h"

namespace kvrm::backend::cuda {

// PTX for compute capability 8.0. A zero byte follows the last one. Empty if this build has no GPU code.
std::span<const std::byte> ptx();
// The module that checks dispatch networks (verify_dispatch.cpp), in the same way.
std::span<const std::byte> verify_ptx();
// The cubin for exactly this compute capability, if it was built.
std::optional<std::span<const std::byte>> cubin_for(int major, int minor);
// The same as a relocatable cubin, to be linked with translated code.
std::optional<std::span<const std::byte>> linkable_for(int major, int minor);
// Registers of a thread that the kernel was assembled for.
unsigned kernel_registers();
// The error where linkable_for() has none.
Error no_linkable_error(int compute);
// The error where ptx() is empty.
Error no_code_error();

}  // namespace kvrm::backend::cuda
