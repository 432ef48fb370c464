// One lane of the CPU device: its state, its memory and the engine that runs it on the calling thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "accelerate/lane_loops.h"
#include "accelerate/profile.h"
#include "base/cpu.h"
#include "interpreter/interpreter.h"
#include "memory/address_space.h"
#include "translator/host/lane_regions.h"

namespace kvrm::backend::cpu {

// Bulk steps of proven loops; null: none.
struct Acceleration {
  std::shared_ptr<accelerate::Loops> loops;
  bool eager = false;  // every loop that is seen is proposed, for tests
  bool profile = false;  // loops are counted instead
};

class Lane {
 public:
  // Several lanes may share the space. Without a translator the interpreter runs everything.
  Lane(std::shared_ptr<memory::AddressSpace> space, const interpreter::Dispatch& dispatch,
       std::shared_ptr<translator::Translator> translator = nullptr, const Acceleration& acceleration = {})
      : space_(std::move(space)), interpreter_(*space_, dispatch_here(dispatch)) {
    if (translator) regions_.emplace(std::move(translator), interpreter_);
    if (acceleration.loops && acceleration.profile)
      profile_.emplace(acceleration.loops, interpreter_);
    else if (acceleration.loops && !space_->is_shared())
      loops_.emplace(acceleration.loops, interpreter_, regions_ ? &*regions_ : nullptr, acceleration.eager);
  }

  Cpu& cpu() { return *cpu_; }
  const Cpu& cpu() const { return *cpu_; }
  std::shared_ptr<Cpu> shared_cpu() { return cpu_; }
  memory::AddressSpace& space() { return *space_; }
  const memory::AddressSpace& space() const { return *space_; }
  interpreter::Interpreter& engine() { return interpreter_; }
  const interpreter::Interpreter& engine() const { return interpreter_; }
  const dispatch::Counts& dispatched() const { return dispatched_; }
  // Tells Loops what the lane has done. The lane is stopped.
  void report_loops() {
    if (loops_) loops_->report();
    if (profile_) profile_->report();
  }

 private:
  interpreter::Dispatch dispatch_here(interpreter::Dispatch dispatch) {
    dispatch.router.counts = &dispatched_;
    return dispatch;
  }

  std::shared_ptr<Cpu> cpu_ = std::make_shared<Cpu>();  // views of the registers may outlive the lane
  dispatch::Counts dispatched_{};
  std::shared_ptr<memory::AddressSpace> space_;
  interpreter::Interpreter interpreter_;
  std::optional<translator::LaneRegions> regions_;
  std::optional<accelerate::LaneLoops> loops_;
  std::optional<accelerate::LoopProfile> profile_;
};

}  // namespace kvrm::backend::cpu
