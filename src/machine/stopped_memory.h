// A GPU lane's memory between runs: every access is a short kernel on the GPU. Inside a system-call hook the lane waits
// in the mailbox and does the access itself.
#pragma once

#include <utility>

#include "backend/cuda/lane_set.h"
#include "memory/guest_memory.h"

namespace kvrm {

class StoppedMemory final : public memory::ForwardingMemory<StoppedMemory> {
 public:
  StoppedMemory(backend::cuda::LaneSet& set, u32 lane) : set_(set), lane_(lane) {}
  void set_now(memory::GuestMemory* now) { now_ = now; }

  // A device that fails leaves the result at `failed`.
  template <class T, class F>
  T visit(T failed, F work) const {
    if (now_) return work(*now_);
    (void)!set_.with_memory(lane_, [&](memory::GuestMemory& memory) { failed = work(memory); }).ok();
    return failed;
  }

 private:
  backend::cuda::LaneSet& set_;
  u32 lane_;
  memory::GuestMemory* now_ = nullptr;  // of the lane that waits in the mailbox
};

}  // namespace kvrm
