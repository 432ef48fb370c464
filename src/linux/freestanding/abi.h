// The structures and constants of arm64 Linux, as the guest lays them out. They are spelled out here and
// not taken from the host's headers: x86-64 differs in struct stat, the open flags and more.
#pragma once

#include "base/types.h"

namespace kvrm::linux_abi {

// Error numbers (asm-generic: the same on arm64 and x86-64) for code that has no standard library.
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

struct GuestStat {
  u64 dev, ino;
  u32 mode, nlink, uid, gid;
  u64 rdev, pad1;
  i64 size;
  i32 blksize, pad2;
  i64 blocks;
  i64 atime;
  u64 atime_nsec;
  i64 mtime;
  u64 mtime_nsec;
  i64 ctime;
  u64 ctime_nsec;
  u32 unused[2];
};
static_assert(sizeof(GuestStat) == 128 && __builtin_offsetof(GuestStat, size) == 48 &&
              __builtin_offsetof(GuestStat, atime) == 72);

struct GuestTimespec {
  i64 seconds, nanoseconds;
};
struct GuestTimeval {
  i64 seconds, microseconds;
};
struct GuestItimerval {
  GuestTimeval interval, value;
};
struct GuestIovec {
  u64 base, size;
};
struct GuestRlimit {
  u64 current, maximum;
};
struct GuestPollfd {
  i32 fd;
  i16 events, revents;
};
struct GuestWinsize {
  u16 rows, columns, xpixel, ypixel;
};

struct GuestTermios {  // the kernel's, not glibc's
  u32 iflag, oflag, cflag, lflag;
  u8 line, cc[19];
};
static_assert(sizeof(GuestTermios) == 36);

struct GuestStatfs {
  i64 type, bsize;
  u64 blocks, bfree, bavail, files, ffree;
  i32 fsid[2];
  i64 namelen, frsize, flags, spare[4];
};
static_assert(sizeof(GuestStatfs) == 120);

struct GuestSysinfo {
  i64 uptime;
  u64 loads[3];
  u64 totalram, freeram, sharedram, bufferram, totalswap, freeswap;
  u16 procs, pad;
  u64 totalhigh, freehigh;
  u32 mem_unit;
};
static_assert(sizeof(GuestSysinfo) == 112);

struct GuestUtsname {
  char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65];
};
static_assert(sizeof(GuestUtsname) == 390);

struct GuestRusage {
  GuestTimeval user, system;
  i64 maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv, nsignals, nvcsw, nivcsw;
};
static_assert(sizeof(GuestRusage) == 144);

struct GuestStatxTime {
  i64 seconds;
  u32 nanoseconds;
  i32 reserved;
};
struct GuestStatx {
  u32 mask, blksize;
  u64 attributes;
  u32 nlink, uid, gid;
  u16 mode, spare0;
  u64 ino, size, blocks, attributes_mask;
  GuestStatxTime atime, btime, ctime, mtime;
  u32 rdev_major, rdev_minor, dev_major, dev_minor;
  u64 mnt_id;
  u32 dio_mem_align, dio_offset_align;
  u64 spare3[12];
};
static_assert(sizeof(GuestStatx) == 256);

// System V shared memory.
struct GuestIpcPermissions {
  i32 key;
  u32 uid, gid, creator_uid, creator_gid;
  u32 mode;
  u16 sequence, pad;
  u64 unused[2];
};
struct GuestShmid {
  GuestIpcPermissions permissions;
  u64 size;
  i64 attach_time, detach_time, change_time;
  i32 creator, last_user;
  u64 attached, unused[2];
};
static_assert(sizeof(GuestIpcPermissions) == 48 && sizeof(GuestShmid) == 112);
struct GuestShmLimits {
  u64 largest, smallest, segments, segments_of_process, pages, unused[4];
};
struct GuestShmUsage {
  i32 segments, pad;
  u64 pages, resident, swapped, swap_attempts, swap_successes;
};

// Signals.
inline constexpr int kSignals = 64;

struct GuestSigaction {
  u64 handler, flags, restorer, mask;
};
struct GuestStack {
  u64 sp;
  i32 flags;
  u32 pad;
  u64 size;
};
static_assert(sizeof(GuestStack) == 24);

struct GuestSiginfo {
  i32 signo, error, code, pad;
  u64 detail;  // the fault's address; or the sender, pid in the low half and uid in the high
  u8 rest[104];
};
static_assert(sizeof(GuestSiginfo) == 128);

struct GuestFpsimdContext {
  u32 magic, size, fpsr, fpcr;
  U128 v[32];
};
static_assert(sizeof(GuestFpsimdContext) == 0x210);
inline constexpr u32 kFpsimdMagic = 0x46508001;
inline constexpr u32 kEsrMagic = 0x45535201;

struct alignas(16) GuestSigcontext {
  u64 fault_address;
  u64 regs[31];
  u64 sp, pc, pstate;
  u64 pad;
  u8 reserved[4096];
};
static_assert(__builtin_offsetof(GuestSigcontext, reserved) == 288);

struct GuestUcontext {
  u64 flags, link;
  GuestStack stack;
  u64 sigmask;
  u8 unused[120];
  u64 pad;
  GuestSigcontext mcontext;
};
static_assert(__builtin_offsetof(GuestUcontext, sigmask) == 40 && __builtin_offsetof(GuestUcontext, mcontext) == 176);

struct GuestSigframe {
  GuestSiginfo info;
  GuestUcontext uc;
};
static_assert(sizeof(GuestSigframe) == 4688 && __builtin_offsetof(GuestSigframe, uc) == 128);

// The open flags. Directory, nofollow, direct and largefile are where arm64 and x86-64 part.
enum OpenFlag : u32 {
  kOpenAccess = 3,
  kOpenReadOnly = 0,
  kOpenWriteOnly = 1,
  kOpenReadWrite = 2,
  kOpenCreate = 0100,
  kOpenExclusive = 0200,
  kOpenNoCtty = 0400,
  kOpenTruncate = 01000,
  kOpenAppend = 02000,
  kOpenNonblock = 04000,
  kOpenDsync = 010000,
  kOpenAsync = 020000,
  kOpenDirectory = 040000,
  kOpenNofollow = 0100000,
  kOpenDirect = 0200000,
  kOpenLargefile = 0400000,
  kOpenNoatime = 01000000,
  kOpenCloexec = 02000000,
  kOpenSync = 04010000,
  kOpenPath = 010000000,
  kOpenTmpfile = 020000000,
};

inline constexpr i32 kAtFdCwd = -100;
enum AtFlag : u32 {
  kAtSymlinkNofollow = 0x100,
  kAtEaccess = 0x200,
  kAtRemovedir = 0x200,
  kAtSymlinkFollow = 0x400,
  kAtNoAutomount = 0x800,
  kAtEmptyPath = 0x1000,
  kAtStatxSyncType = 0x6000,
};

inline constexpr u64 kMaxTransfer = 0x7ffff000;  // Linux moves no more in one call
inline constexpr u64 kMaxPath = 4096;

}  // namespace kvrm::linux_abi
