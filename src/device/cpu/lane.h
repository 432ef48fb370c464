// One lane of the CPU device: its state, its memory and the engine that runs it on the calling thread.
#pragma once

#include <atomic>

#include "base/cpu.h"
#include "interpreter/interpreter.h"
#include "memory/address_space.h"

namespace kvrm::device::cpu {

class Lane {
 public:
  Lane(u64 memory_limit, const interpreter::Dispatch& dispatch)
      : space_(memory_limit), interpreter_(space_, dispatch_here(dispatch)) {}

  Cpu& cpu() { return cpu_; }
  const Cpu& cpu() const { return cpu_; }
  memory::AddressSpace& space() { return space_; }
  const memory::AddressSpace& space() const { return space_; }
  interpreter::Interpreter& engine() { return interpreter_; }
  const interpreter::Interpreter& engine() const { return interpreter_; }
  const dispatch::Counts& dispatched() const { return dispatched_; }

 private:
  interpreter::Dispatch dispatch_here(interpreter::Dispatch dispatch) {
    dispatch.router.counts = &dispatched_;
    return dispatch;
  }

  Cpu cpu_{};
  dispatch::Counts dispatched_{};
  memory::AddressSpace space_;
  interpreter::Interpreter interpreter_;
};

}  // namespace kvrm::device::cpu
