// The code that runs on the GPU. Freestanding: compiled by clang for nvptx64, see CMakeLists.txt.
#include "base/types.h"

using kvrm::u32;
using kvrm::u64;

// A placeholder that shows that building, embedding, loading and launching work: to[i] = first + i.
extern "C" __attribute__((nvptx_kernel)) void kvrm_fill(u32* to, u32 first, u64 count) {
  const auto threads = static_cast<u64>(__nvvm_read_ptx_sreg_ntid_x());
  const auto blocks = static_cast<u64>(__nvvm_read_ptx_sreg_nctaid_x());
  const auto block = static_cast<u64>(__nvvm_read_ptx_sreg_ctaid_x());
  const u64 start = block * threads + static_cast<u64>(__nvvm_read_ptx_sreg_tid_x());
  for (u64 i = start; i < count; i += blocks * threads) to[i] = first + static_cast<u32>(i);
}
