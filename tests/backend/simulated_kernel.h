// The kernel with simulated warps: what src/backend/kernel/kernel.cpp is on a GPU. Only plain data crosses this
// interface, since the kernel's Cpu has another shape than the library's.
#pragma once

#include <atomic>

#include "backend/kernel/lane.h"

namespace kvrm::backend::test {

enum class Lanes { kThreads, kFibers };

struct Simulation {
  Lanes kind;
  u64 seed;
  u32 seats;  // groups that run at the same time
  const std::atomic<u64>* clock;  // nanoseconds; null: it is always later
};

// Every seat is a thread that takes one group after the other, and with kThreads so is every lane. Returns when all
// lanes have stopped.
void simulate_run(const kernel::Launch& launch, const Simulation& simulation);
void simulate_prepare(const kernel::Launch& launch);
void simulate_decode(const kernel::Launch& launch);

}  // namespace kvrm::backend::test
