// The kernel that asks a dispatch network about every word there is. A module of its own: it is needed only for that.
#include "base/warp.h"
#include "dispatch/verify.h"

using namespace kvrm;

extern "C" __attribute__((nvptx_kernel)) void kvrm_verify_dispatch(const neural::DispatchNetwork* network,
                                                                   dispatch::Tally* tally, u64 first, u64 count) {
  const u64 step = u64{warp::blocks()} * warp::block_size();
  dispatch::Checker checker(*network, *tally);
  for (u64 i = u64{warp::block()} * warp::block_size() + warp::thread(); i < count; i += step) {
    checker.check(static_cast<u32>(first + i), 1);
  }
  checker.finish();
}
