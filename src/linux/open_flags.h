// Between the guest's open flags and the host's.
#pragma once

#include <fcntl.h>

#include <array>

#include "base/types.h"
#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {

struct OpenFlagPair {
  u32 guest;
  int host;
};
// O_DIRECT is left out: the bounce buffer is not what the guest aligned. O_NONBLOCK is the layer's own.
inline constexpr std::array<OpenFlagPair, 12> kOpenFlagPairs = {{{kOpenCreate, O_CREAT},
                                                                 {kOpenExclusive, O_EXCL},
                                                                 {kOpenTruncate, O_TRUNC},
                                                                 {kOpenAppend, O_APPEND},
                                                                 {kOpenNonblock, O_NONBLOCK},
                                                                 {kOpenDsync, O_DSYNC},
                                                                 {kOpenSync & ~kOpenDsync, O_SYNC & ~O_DSYNC},
                                                                 {kOpenDirectory, O_DIRECTORY},
                                                                 {kOpenNofollow, O_NOFOLLOW},
                                                                 {kOpenNoatime, O_NOATIME},
                                                                 {kOpenPath, O_PATH},
                                                                 {kOpenTmpfile, O_TMPFILE & ~O_DIRECTORY}}};

inline int host_open_flags(u32 guest) {
  int host = int(guest & kOpenAccess);
  for (const auto& pair : kOpenFlagPairs)
    if (guest & pair.guest) host |= pair.host;
  return host;
}

inline u32 guest_open_flags(int host) {
  u32 guest = u32(host) & kOpenAccess;
  for (const auto& pair : kOpenFlagPairs)
    if (host & pair.host) guest |= pair.guest;
  return guest;
}

}  // namespace kvrm::linux_abi
