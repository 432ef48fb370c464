// One lane of the CPU device: its state, its memory and the engine that runs it on the calling thread.
#pragma once

#include <atomic>
#include <optional>

#include "base/cpu.h"
#include "interpreter/interpreter.h"
#include "memory/address_space.h"
#include "translator/lane_regions.h"

namespace kvrm::device::cpu {

class Lane {
 public:
  // Without a translator the interpreter does everything.
  explicit Lane(u64 memory_limit, std::shared_ptr<translator::Translator> translator = nullptr)
      : space_(memory_limit), interpreter_(space_) {
    if (translator) regions_.emplace(std::move(translator), space_, interpreter_);
  }

  Cpu& cpu() { return cpu_; }
  const Cpu& cpu() const { return cpu_; }
  memory::AddressSpace& space() { return space_; }
  const memory::AddressSpace& space() const { return space_; }
  interpreter::Interpreter& engine() { return interpreter_; }
  const interpreter::Interpreter& engine() const { return interpreter_; }

 private:
  Cpu cpu_{};
  memory::AddressSpace space_;
  interpreter::Interpreter interpreter_;
  std::optional<translator::LaneRegions> regions_;
};

}  // namespace kvrm::device::cpu
