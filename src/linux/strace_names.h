// Constants by name, as strace prints them.
#pragma once

#include <span>
#include <string>

#include "base/types.h"

namespace kvrm::linux_abi {

struct Name {
  u64 value;
  const char* name;
};

struct Names {
  const char* unknown;  // of a value without a name: "MADV_???"
  std::span<const Name> names;
};

// One of the values: "MADV_DONTNEED", "0x3e7 /* MADV_??? */".
std::string one_of(const Names& names, u64 value);
// Several together: "O_RDWR|O_CLOEXEC". A name whose value is 0 stands for no flag at all.
std::string flags_of(const Names& names, u64 value);

extern const Names kAccessNames, kAdviceNames, kAtNames, kClockNames, kCloneNames, kDescriptorNames, kEpollNames,
    kFcntlNames, kFutexNames, kHowNames, kIoctlNames, kLockNames, kMapNames, kMsyncNames, kOpenAccessNames, kOpenNames,
    kPollNames, kPrctlNames, kProtectionNames, kRandomNames, kRemapNames, kResourceNames, kRusageNames, kShmctlNames,
    kShmatNames, kShmgetNames, kSigactionNames, kSignalStackNames, kTimerNames, kWaitNames, kWhenceNames;

// "SIGSEGV", "SIGRT_2", "99".
std::string signal_name(u64 number);
// "EINVAL"; or the number.
std::string error_name(i64 number);
// si_code: "SI_USER", "SEGV_MAPERR".
std::string signal_code_name(int signal, int code);

std::string hex(u64 value);

}  // namespace kvrm::linux_abi
