// The guest's structures against the offsets of arm64's headers (checked once with aarch64-linux-gnu-gcc).
#include <gtest/gtest.h>

#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {
namespace {

#define KVRM_AT(type, member, offset) EXPECT_EQ(offsetof(type, member), std::size_t(offset))

TEST(Layout, Stat) {
  KVRM_AT(GuestStat, ino, 8);
  KVRM_AT(GuestStat, mode, 16);
  KVRM_AT(GuestStat, nlink, 20);
  KVRM_AT(GuestStat, uid, 24);
  KVRM_AT(GuestStat, rdev, 32);
  KVRM_AT(GuestStat, size, 48);
  KVRM_AT(GuestStat, blksize, 56);
  KVRM_AT(GuestStat, blocks, 64);
  KVRM_AT(GuestStat, atime, 72);
  KVRM_AT(GuestStat, mtime, 88);
  KVRM_AT(GuestStat, ctime, 104);
  KVRM_AT(GuestStatx, ino, 32);
  KVRM_AT(GuestStatx, atime, 64);
  KVRM_AT(GuestStatx, rdev_major, 128);
}

TEST(Layout, System) {
  KVRM_AT(GuestUtsname, machine, 260);
  KVRM_AT(GuestSysinfo, totalram, 32);
  KVRM_AT(GuestSysinfo, procs, 80);
  KVRM_AT(GuestSysinfo, mem_unit, 104);
  KVRM_AT(GuestStatfs, namelen, 64);
  KVRM_AT(GuestStatfs, flags, 80);
  KVRM_AT(GuestTermios, cc, 17);
  KVRM_AT(GuestRusage, maxrss, 32);
}

TEST(Layout, Signals) {
  KVRM_AT(GuestSigaction, mask, 24);
  KVRM_AT(GuestSiginfo, detail, 16);
  KVRM_AT(GuestUcontext, stack, 16);
  KVRM_AT(GuestUcontext, sigmask, 40);
  KVRM_AT(GuestUcontext, mcontext, 176);
  KVRM_AT(GuestSigcontext, regs, 8);
  KVRM_AT(GuestSigcontext, sp, 256);
  KVRM_AT(GuestSigcontext, pc, 264);
  KVRM_AT(GuestSigcontext, pstate, 272);
  KVRM_AT(GuestSigcontext, reserved, 288);
  KVRM_AT(GuestFpsimdContext, fpsr, 8);
  KVRM_AT(GuestFpsimdContext, v, 16);
}

}  // namespace
}  // namespace kvrm::linux_abi
