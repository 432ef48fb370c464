// From a number in x8 to the function that answers.
#pragma once

#include "base/types.h"
#include "linux/kernel_state.h"

namespace kvrm::linux_abi {

// The call's result for x0 (or kRestart). No exception leaves it.
i64 dispatch(Kernel& kernel, Call& call, u32 number);

// "openat", or an empty string for numbers Linux does not have.
const char* call_name(u32 number);

// "clone is not supported: threads and processes".
std::string missing_call(u32 number);

}  // namespace kvrm::linux_abi
