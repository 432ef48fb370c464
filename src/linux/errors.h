// Error numbers (asm-generic: the same on arm64 and x86-64) for code that has no standard library.
#pragma once

#include "base/types.h"

namespace kvrm::linux_abi {

inline constexpr i64 kEperm = 1;
inline constexpr i64 kEnoent = 2;
inline constexpr i64 kEsrch = 3;
inline constexpr i64 kEintr = 4;
inline constexpr i64 kEbadf = 9;
inline constexpr i64 kEchild = 10;
inline constexpr i64 kEagain = 11;
inline constexpr i64 kEnomem = 12;
inline constexpr i64 kEacces = 13;
inline constexpr i64 kEfault = 14;
inline constexpr i64 kEexist = 17;
inline constexpr i64 kEinval = 22;
inline constexpr i64 kEnotty = 25;
inline constexpr i64 kEspipe = 29;
inline constexpr i64 kEnosys = 38;
inline constexpr i64 kEopnotsupp = 95;
inline constexpr i64 kEafnosupport = 97;

}  // namespace kvrm::linux_abi
