// A library that stands in for NVIDIA's driver in tests: it has memory and counts, and fails where it is told to.
#pragma once

#include <cstddef>

#include "backend/cuda/api.h"

namespace kvrm::backend::cuda {

struct FakeState {
  int version = 12040;
  Code init = Code::kSuccess;
  int devices = 1;
  int compute = 90;
  std::size_t free = std::size_t{8} << 30;
  Code retain = Code::kSuccess;
  Code launch = Code::kSuccess;
  Code stream = Code::kSuccess;       // what asking for or waiting for a stream gives
  Code load_elf = Code::kSuccess;     // loading an ELF file, as cubins are
  Code link = Code::kSuccess;         // compiling
  int live = 0;                       // objects and retained contexts
  int compiled = 0;                   // times
  unsigned launched_grid = 0;
};

// Exported by the library under this name.
using FakeStateFunction = FakeState* (*)();
inline constexpr const char* kFakeStateFunction = "kvrm_fake_cuda_state";

}  // namespace kvrm::backend::cuda
