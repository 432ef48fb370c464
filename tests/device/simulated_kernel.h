// The kernel with simulated warps: what src/device/cuda/kernel.cpp is on a GPU. Only plain data crosses this interface,
// since the kernel's Cpu has another shape than the library's.
#pragma once

#include "device/lanes/lane.h"

namespace kvrm::device::test {

enum class Lanes { kThreads, kFibers };

// Every group is a thread, and with kThreads so is every lane. Returns when all lanes have stopped.
void simulate_run(const lanes::Launch& launch, Lanes kind, u64 seed);
void simulate_prepare(const lanes::Launch& launch);
void simulate_decode(const lanes::Launch& launch);

}  // namespace kvrm::device::test
