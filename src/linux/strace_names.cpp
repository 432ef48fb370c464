#include "linux/strace_names.h"

#include <cstdio>
#include <cstring>

#include "linux/freestanding/abi.h"
#include "linux/signal_state.h"

namespace kvrm::linux_abi {
namespace {

constexpr Name kAccess[] = {{0, "F_OK"}, {4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"}};
constexpr Name kAdvice[] = {{0, "MADV_NORMAL"},           {1, "MADV_RANDOM"},         {2, "MADV_SEQUENTIAL"},
                            {3, "MADV_WILLNEED"},         {4, "MADV_DONTNEED"},       {8, "MADV_FREE"},
                            {9, "MADV_REMOVE"},           {10, "MADV_DONTFORK"},      {11, "MADV_DOFORK"},
                            {12, "MADV_MERGEABLE"},       {13, "MADV_UNMERGEABLE"},   {14, "MADV_HUGEPAGE"},
                            {15, "MADV_NOHUGEPAGE"},      {16, "MADV_DONTDUMP"},      {17, "MADV_DODUMP"},
                            {18, "MADV_WIPEONFORK"},      {19, "MADV_KEEPONFORK"},    {20, "MADV_COLD"},
                            {21, "MADV_PAGEOUT"},         {22, "MADV_POPULATE_READ"}, {23, "MADV_POPULATE_WRITE"},
                            {24, "MADV_DONTNEED_LOCKED"}, {25, "MADV_COLLAPSE"},      {100, "MADV_HWPOISON"},
                            {101, "MADV_SOFT_OFFLINE"}};
constexpr Name kAt[] = {{0x100, "AT_SYMLINK_NOFOLLOW"},
                        {0x200, "AT_REMOVEDIR"},
                        {0x400, "AT_SYMLINK_FOLLOW"},
                        {0x800, "AT_NO_AUTOMOUNT"},
                        {0x1000, "AT_EMPTY_PATH"}};
constexpr Name kClocks[] = {{0, "CLOCK_REALTIME"},          {1, "CLOCK_MONOTONIC"},     {2, "CLOCK_PROCESS_CPUTIME_ID"},
                            {3, "CLOCK_THREAD_CPUTIME_ID"}, {4, "CLOCK_MONOTONIC_RAW"}, {5, "CLOCK_REALTIME_COARSE"},
                            {6, "CLOCK_MONOTONIC_COARSE"},  {7, "CLOCK_BOOTTIME"},      {11, "CLOCK_TAI"}};
constexpr Name kClone[] = {{0x100, "CLONE_VM"},
                           {0x200, "CLONE_FS"},
                           {0x400, "CLONE_FILES"},
                           {0x800, "CLONE_SIGHAND"},
                           {0x2000, "CLONE_PTRACE"},
                           {0x4000, "CLONE_VFORK"},
                           {0x8000, "CLONE_PARENT"},
                           {0x10000, "CLONE_THREAD"},
                           {0x40000, "CLONE_SYSVSEM"},
                           {0x80000, "CLONE_SETTLS"},
                           {0x100000, "CLONE_PARENT_SETTID"},
                           {0x200000, "CLONE_CHILD_CLEARTID"},
                           {0x1000000, "CLONE_CHILD_SETTID"}};
constexpr Name kDescriptor[] = {{1, "FD_CLOEXEC"}};
constexpr Name kEpoll[] = {{0x80000, "EPOLL_CLOEXEC"}};
constexpr Name kFcntl[] = {
    {0, "F_DUPFD"},         {1, "F_GETFD"},         {2, "F_SETFD"},        {3, "F_GETFL"},
    {4, "F_SETFL"},         {5, "F_GETLK"},         {6, "F_SETLK"},        {7, "F_SETLKW"},
    {8, "F_SETOWN"},        {9, "F_GETOWN"},        {36, "F_OFD_GETLK"},   {37, "F_OFD_SETLK"},
    {38, "F_OFD_SETLKW"},   {1024, "F_SETLEASE"},   {1025, "F_GETLEASE"},  {1030, "F_DUPFD_CLOEXEC"},
    {1031, "F_SETPIPE_SZ"}, {1032, "F_GETPIPE_SZ"}, {1033, "F_ADD_SEALS"}, {1034, "F_GET_SEALS"}};
constexpr Name kFutex[] = {{0, "FUTEX_WAIT"},        {1, "FUTEX_WAKE"},       {3, "FUTEX_REQUEUE"},
                           {4, "FUTEX_CMP_REQUEUE"}, {5, "FUTEX_WAKE_OP"},    {6, "FUTEX_LOCK_PI"},
                           {7, "FUTEX_UNLOCK_PI"},   {8, "FUTEX_TRYLOCK_PI"}, {9, "FUTEX_WAIT_BITSET"},
                           {10, "FUTEX_WAKE_BITSET"}};
constexpr Name kHow[] = {{0, "SIG_BLOCK"}, {1, "SIG_UNBLOCK"}, {2, "SIG_SETMASK"}};
constexpr Name kIoctl[] = {{0x5401, "TCGETS"},    {0x5402, "TCSETS"},    {0x5403, "TCSETSW"},    {0x5404, "TCSETSF"},
                           {0x540f, "TIOCGPGRP"}, {0x5410, "TIOCSPGRP"}, {0x5413, "TIOCGWINSZ"}, {0x5414, "TIOCSWINSZ"},
                           {0x541b, "FIONREAD"},  {0x5421, "FIONBIO"},   {0x5450, "FIONCLEX"},   {0x5451, "FIOCLEX"}};
constexpr Name kLock[] = {{1, "LOCK_SH"}, {2, "LOCK_EX"}, {4, "LOCK_NB"}, {8, "LOCK_UN"}};
constexpr Name kMap[] = {{3, "MAP_SHARED_VALIDATE"}, {1, "MAP_SHARED"},         {2, "MAP_PRIVATE"},
                         {0x10, "MAP_FIXED"},        {0x20, "MAP_ANONYMOUS"},   {0x100, "MAP_GROWSDOWN"},
                         {0x2000, "MAP_LOCKED"},     {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"},
                         {0x20000, "MAP_STACK"},     {0x40000, "MAP_HUGETLB"},  {0x100000, "MAP_FIXED_NOREPLACE"}};
constexpr Name kMsync[] = {{1, "MS_ASYNC"}, {2, "MS_INVALIDATE"}, {4, "MS_SYNC"}};
constexpr Name kOpenAccessModes[] = {{0, "O_RDONLY"}, {1, "O_WRONLY"}, {2, "O_RDWR"}, {3, "O_ACCMODE"}};
constexpr Name kOpen[] = {{kOpenCreate, "O_CREAT"},        {kOpenExclusive, "O_EXCL"},
                          {kOpenNoCtty, "O_NOCTTY"},       {kOpenTruncate, "O_TRUNC"},
                          {kOpenAppend, "O_APPEND"},       {kOpenNonblock, "O_NONBLOCK"},
                          {kOpenSync, "O_SYNC"},           {kOpenDsync, "O_DSYNC"},
                          {kOpenAsync, "O_ASYNC"},         {kOpenDirect, "O_DIRECT"},
                          {kOpenLargefile, "O_LARGEFILE"}, {kOpenNofollow, "O_NOFOLLOW"},
                          {kOpenNoatime, "O_NOATIME"},     {kOpenCloexec, "O_CLOEXEC"},
                          {kOpenPath, "O_PATH"},           {kOpenTmpfile | kOpenDirectory, "O_TMPFILE"},
                          {kOpenDirectory, "O_DIRECTORY"}};
constexpr Name kPoll[] = {{1, "POLLIN"},   {2, "POLLPRI"},   {4, "POLLOUT"},     {8, "POLLERR"},
                          {16, "POLLHUP"}, {32, "POLLNVAL"}, {64, "POLLRDNORM"}, {256, "POLLWRNORM"}};
constexpr Name kPrctl[] = {{1, "PR_SET_PDEATHSIG"},     {2, "PR_GET_PDEATHSIG"},   {3, "PR_GET_DUMPABLE"},
                           {4, "PR_SET_DUMPABLE"},      {15, "PR_SET_NAME"},       {16, "PR_GET_NAME"},
                           {21, "PR_GET_SECCOMP"},      {22, "PR_SET_SECCOMP"},    {23, "PR_CAPBSET_READ"},
                           {29, "PR_SET_TIMERSLACK"},   {30, "PR_GET_TIMERSLACK"}, {38, "PR_SET_NO_NEW_PRIVS"},
                           {39, "PR_GET_NO_NEW_PRIVS"}, {0x53564d41, "PR_SET_VMA"}};
constexpr Name kProtections[] = {
    {0, "PROT_NONE"},           {1, "PROT_READ"}, {2, "PROT_WRITE"}, {4, "PROT_EXEC"}, {0x1000000, "PROT_GROWSDOWN"},
    {0x2000000, "PROT_GROWSUP"}};
constexpr Name kRandoms[] = {{1, "GRND_NONBLOCK"}, {2, "GRND_RANDOM"}, {4, "GRND_INSECURE"}};
constexpr Name kRemap[] = {{1, "MREMAP_MAYMOVE"}, {2, "MREMAP_FIXED"}, {4, "MREMAP_DONTUNMAP"}};
constexpr Name kResources[] = {
    {0, "RLIMIT_CPU"},       {1, "RLIMIT_FSIZE"}, {2, "RLIMIT_DATA"},    {3, "RLIMIT_STACK"},
    {4, "RLIMIT_CORE"},      {5, "RLIMIT_RSS"},   {6, "RLIMIT_NPROC"},   {7, "RLIMIT_NOFILE"},
    {8, "RLIMIT_MEMLOCK"},   {9, "RLIMIT_AS"},    {10, "RLIMIT_LOCKS"},  {11, "RLIMIT_SIGPENDING"},
    {12, "RLIMIT_MSGQUEUE"}, {13, "RLIMIT_NICE"}, {14, "RLIMIT_RTPRIO"}, {15, "RLIMIT_RTTIME"}};
constexpr Name kRusage[] = {{0, "RUSAGE_SELF"}, {0xffffffff, "RUSAGE_CHILDREN"}, {1, "RUSAGE_THREAD"}};
constexpr Name kShmctl[] = {{0, "IPC_RMID"},  {1, "IPC_SET"},   {2, "IPC_STAT"},
                            {3, "IPC_INFO"},  {11, "SHM_LOCK"}, {12, "SHM_UNLOCK"},
                            {13, "SHM_STAT"}, {14, "SHM_INFO"}, {15, "SHM_STAT_ANY"}};
constexpr Name kShmat[] = {{010000, "SHM_RDONLY"}, {020000, "SHM_RND"}, {040000, "SHM_REMAP"}, {0100000, "SHM_EXEC"}};
constexpr Name kShmget[] = {
    {01000, "IPC_CREAT"}, {02000, "IPC_EXCL"}, {04000, "SHM_HUGETLB"}, {010000, "SHM_NORESERVE"}};
constexpr Name kSigaction[] = {{kSaRestorer, "SA_RESTORER"},
                               {kSaOnstack, "SA_ONSTACK"},
                               {kSaRestart, "SA_RESTART"},
                               {2, "SA_NOCLDWAIT"},
                               {1, "SA_NOCLDSTOP"},
                               {kSaNodefer, "SA_NODEFER"},
                               {kSaResethand, "SA_RESETHAND"},
                               {kSaSiginfo, "SA_SIGINFO"}};
constexpr Name kSignalStack[] = {{1, "SS_ONSTACK"}, {2, "SS_DISABLE"}, {0x80000000, "SS_AUTODISARM"}};
constexpr Name kTimers[] = {{0, "ITIMER_REAL"}, {1, "ITIMER_VIRTUAL"}, {2, "ITIMER_PROF"}};
constexpr Name kWait[] = {
    {1, "WNOHANG"},         {2, "WSTOPPED"},         {4, "WEXITED"}, {8, "WCONTINUED"}, {0x20000000, "__WNOTHREAD"},
    {0x40000000, "__WALL"}, {0x80000000, "__WCLONE"}};
constexpr Name kWhence[] = {{0, "SEEK_SET"}, {1, "SEEK_CUR"}, {2, "SEEK_END"}, {3, "SEEK_DATA"}, {4, "SEEK_HOLE"}};

constexpr Name kGeneralCodes[] = {
    {0, "SI_USER"}, {0x80, "SI_KERNEL"}, {0xffffffff, "SI_QUEUE"}, {0xfffffffa, "SI_TKILL"}};
constexpr Name kSegvCodes[] = {{kSegvMaperr, "SEGV_MAPERR"}, {kSegvAccerr, "SEGV_ACCERR"}};
constexpr Name kBusCodes[] = {{kBusAdraln, "BUS_ADRALN"}};
constexpr Name kIllCodes[] = {{kIllIllopc, "ILL_ILLOPC"}};
constexpr Name kTrapCodes[] = {{kTrapBrkpt, "TRAP_BRKPT"}};

const char* find(std::span<const Name> names, u64 value) {
  for (const Name& one : names)
    if (one.value == value) return one.name;
  return nullptr;
}

std::span<const Name> codes_of(int signal) {
  switch (signal) {
    case kSigsegv: return kSegvCodes;
    case kSigbus: return kBusCodes;
    case kSigill: return kIllCodes;
    case kSigtrap: return kTrapCodes;
    default: return {};
  }
}

}  // namespace

const Names kAccessNames{"?_OK", kAccess};
const Names kAdviceNames{"MADV_???", kAdvice};
const Names kAtNames{"AT_???", kAt};
const Names kClockNames{"CLOCK_???", kClocks};
const Names kCloneNames{"CLONE_???", kClone};
const Names kDescriptorNames{"FD_???", kDescriptor};
const Names kEpollNames{"EPOLL_???", kEpoll};
const Names kFcntlNames{"F_???", kFcntl};
const Names kFutexNames{"FUTEX_???", kFutex};
const Names kHowNames{"SIG_???", kHow};
const Names kIoctlNames{"TC??? or TIO???", kIoctl};
const Names kLockNames{"LOCK_???", kLock};
const Names kMapNames{"MAP_???", kMap};
const Names kMsyncNames{"MS_???", kMsync};
const Names kOpenAccessNames{"O_???", kOpenAccessModes};
const Names kOpenNames{"O_???", kOpen};
const Names kPollNames{"POLL???", kPoll};
const Names kPrctlNames{"PR_???", kPrctl};
const Names kProtectionNames{"PROT_???", kProtections};
const Names kRandomNames{"GRND_???", kRandoms};
const Names kRemapNames{"MREMAP_???", kRemap};
const Names kResourceNames{"RLIMIT_???", kResources};
const Names kRusageNames{"RUSAGE_???", kRusage};
const Names kShmctlNames{"SHM_???", kShmctl};
const Names kShmatNames{"SHM_???", kShmat};
const Names kShmgetNames{"SHM_???", kShmget};
const Names kSigactionNames{"SA_???", kSigaction};
const Names kSignalStackNames{"SS_???", kSignalStack};
const Names kTimerNames{"ITIMER_???", kTimers};
const Names kWaitNames{"W???", kWait};
const Names kWhenceNames{"SEEK_???", kWhence};

std::string hex(u64 value) {
  char text[32];
  std::snprintf(text, sizeof text, value == 0 ? "0" : "%#llx", static_cast<unsigned long long>(value));
  return text;
}

std::string one_of(const Names& names, u64 value) {
  const char* name = find(names.names, value);
  return name ? name : hex(value) + " /* " + names.unknown + " */";
}

std::string flags_of(const Names& names, u64 value) {
  if (value == 0) {
    const char* none = find(names.names, 0);
    return none ? none : "0";
  }
  std::string text;
  u64 left = value;
  for (const Name& one : names.names) {
    if (one.value == 0 || (left & one.value) != one.value) continue;
    text += (text.empty() ? "" : "|") + std::string(one.name);
    left &= ~one.value;
  }
  if (text.empty()) return hex(value) + " /* " + names.unknown + " */";
  return left == 0 ? text : text + "|" + hex(left);
}

std::string signal_name(u64 number) {
  if (number == 32) return "SIGRTMIN";
  if (number > 32 && number <= u64{kSignals}) return "SIGRT_" + std::to_string(number - 32);
  const char* name = number < 32 ? sigabbrev_np(int(number)) : nullptr;
  return name ? std::string("SIG") + name : std::to_string(number);
}

std::string error_name(i64 number) {
  const char* name = strerrorname_np(int(number));
  return name ? name : std::to_string(number);
}

std::string signal_code_name(int signal, int code) {
  const char* name = find(codes_of(signal), u32(code));
  if (!name) name = find(kGeneralCodes, u32(code));
  return name ? name : std::to_string(code);
}

}  // namespace kvrm::linux_abi
