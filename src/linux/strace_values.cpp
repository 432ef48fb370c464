#include "linux/strace_values.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "linux/guest_copy.h"
#include "linux/strace_names.h"

namespace kvrm::linux_abi {
namespace {

constexpr std::size_t kShownBytes = 32, kShownEntries = 32;

using Call = TracedCall;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string number_text(const Call& call, std::size_t i) { return std::to_string(i32(u32(call.a[i]))); }
std::string unsigned_text(const Call& call, std::size_t i) { return std::to_string(u32(call.a[i])); }
std::string size_text(const Call& call, std::size_t i) { return std::to_string(call.a[i]); }
std::string offset_text(const Call& call, std::size_t i) { return std::to_string(i64(call.a[i])); }
std::string hex_text(const Call& call, std::size_t i) { return hex(call.a[i]); }
std::string address_text(const Call& call, std::size_t i) { return pointer_text(call.a[i]); }
std::string octal_text(const Call& call, std::size_t i) { return format("%#03o", u32(call.a[i])); }
std::string key_text(const Call& call, std::size_t i) {
  return u32(call.a[i]) == 0 ? "IPC_PRIVATE" : hex(u32(call.a[i]));
}
std::string at_text(const Call& call, std::size_t i) {
  return i32(u32(call.a[i])) == kAtFdCwd ? "AT_FDCWD" : number_text(call, i);
}

// --- strings and buffers ---

std::string path_text(const Call& call, std::size_t i) {
  std::string text;
  if (call.a[i] == 0) return "NULL";
  const i64 error = copy_text(call.memory, call.a[i], kMaxPath, text);
  if (error != 0 && text.empty()) return pointer_text(call.a[i]);
  return quoted(text, error != 0);
}

std::string shown_bytes(const memory::GuestMemory& memory, u64 address, u64 size, bool all_hex) {
  std::string bytes(std::min<u64>(size, kShownBytes), '\0');
  if (address == 0) return "NULL";
  if (!memory.read(address, bytes.data(), bytes.size())) return pointer_text(address);
  return quoted(bytes, size > bytes.size(), all_hex);
}

std::string text_text(const Call& call, std::size_t i) {
  std::string text;
  if (call.a[i] == 0) return "NULL";
  if (copy_text(call.memory, call.a[i], kShownBytes + 1, text) == -EFAULT) return pointer_text(call.a[i]);
  const bool cut = text.size() > kShownBytes;
  return quoted(text.substr(0, kShownBytes), cut);
}

std::string bytes_text(const Call& call, std::size_t i) {
  return shown_bytes(call.memory, call.a[i], call.a[i + 1], false);
}
std::string bytes_back_text(const Call& call, std::size_t i) {
  return shown_bytes(call.memory, call.a[i], u64(call.result), false);
}
std::string random_back_text(const Call& call, std::size_t i) {
  return shown_bytes(call.memory, call.a[i], u64(call.result), true);
}
// getcwd counts the zero at the end.
std::string text_back_text(const Call& call, std::size_t i) {
  return shown_bytes(call.memory, call.a[i], u64(call.result) - 1, false);
}

// [entry, entry, ...] of an array in the guest.
template <class T, class Entry>
std::string array_text(const Call& call, u64 address, u64 count, Entry entry) {
  std::string text = "[";
  if (address == 0) return "NULL";
  for (u64 i = 0; i < count; ++i) {
    T one{};
    if (i == kShownEntries) return text + ", ...]";
    if (!copy_in(call.memory, address + i * sizeof(T), one)) return i == 0 ? pointer_text(address) : text + ", ...]";
    text += (i == 0 ? "" : ", ") + entry(one);
  }
  return text + "]";
}

// `limit`: how many bytes of all buffers together mean something.
std::string vectors_up_to(const Call& call, std::size_t i, u64 limit) {
  return array_text<GuestIovec>(call, call.a[i], u32(call.a[i + 1]), [&](const GuestIovec& vector) {
    const u64 size = std::min(vector.size, limit);
    limit -= size;
    return "{iov_base=" + shown_bytes(call.memory, vector.base, size, false) +
           ", iov_len=" + std::to_string(vector.size) + "}";
  });
}
std::string vectors_text(const Call& call, std::size_t i) { return vectors_up_to(call, i, ~u64{0}); }
std::string vectors_back_text(const Call& call, std::size_t i) { return vectors_up_to(call, i, u64(call.result)); }

// --- constants ---

template <const Names& names>
std::string one_text(const Call& call, std::size_t i) {
  return one_of(names, u32(call.a[i]));
}
template <const Names& names>
std::string flags_text(const Call& call, std::size_t i) {
  return flags_of(names, u32(call.a[i]));
}

std::string open_flags_text(const Call& call, std::size_t i) {
  const u32 flags = u32(call.a[i]), more = flags & ~u32{kOpenAccess};
  const std::string access = one_of(kOpenAccessNames, flags & kOpenAccess);
  return more == 0 ? access : access + "|" + flags_of(kOpenNames, more);
}
std::string open_mode_text(const Call& call, std::size_t i) {
  return u32(call.a[i - 1]) & (kOpenCreate | kOpenTmpfile) ? octal_text(call, i) : "";
}
std::string fcntl_value_text(const Call& call, std::size_t i) {
  constexpr u32 kDupfd = 0, kGetfd = 1, kSetfd = 2, kGetfl = 3, kSetfl = 4, kGetown = 9, kDupfdCloexec = 1030,
                kGetpipeSize = 1032;
  switch (u32(call.a[i - 1])) {
    case kGetfd:
    case kGetfl:
    case kGetown:
    case kGetpipeSize: return "";
    case kSetfd: return flags_of(kDescriptorNames, call.a[i]);
    case kSetfl: return open_flags_text(call, i);
    case kDupfd:
    case kDupfdCloexec: return number_text(call, i);
    default: return hex(call.a[i]);
  }
}
std::string futex_text(const Call& call, std::size_t i) {
  constexpr u32 kPrivate = 128, kRealtime = 256;
  const u32 operation = u32(call.a[i]);
  std::string text = one_of(kFutexNames, operation & ~(kPrivate | kRealtime));
  if (operation & kPrivate) text += "_PRIVATE";
  return operation & kRealtime ? text + "|FUTEX_CLOCK_REALTIME" : text;
}
std::string prctl_value_text(const Call& call, std::size_t i) {
  constexpr u32 kSetName = 15;
  return u32(call.a[i - 1]) == kSetName ? text_text(call, i) : hex(call.a[i]);
}
std::string remap_target_text(const Call& call, std::size_t i) {
  constexpr u64 kMayMove = 1;
  return call.a[i - 1] > kMayMove ? pointer_text(call.a[i]) : "";
}
// The low byte is the signal that the parent gets.
std::string clone_flags_text(const Call& call, std::size_t i) {
  const u64 flags = call.a[i] & ~u64{0xff}, signal = call.a[i] & 0xff;
  if (signal == 0) return flags_of(kCloneNames, flags);
  return (flags == 0 ? "" : flags_of(kCloneNames, flags) + "|") + signal_name(signal);
}
std::string shmget_flags_text(const Call& call, std::size_t i) {
  const u32 flags = u32(call.a[i]), mode = flags & 0777;
  return flags == mode ? octal_text(call, i) : flags_of(kShmgetNames, flags - mode) + format("|%#03o", mode);
}
std::string signal_text(const Call& call, std::size_t i) { return signal_name(u32(call.a[i])); }

// --- structures ---

// What T says at the argument's address.
template <class T, std::string (*describe)(const T&)>
std::string struct_text(const Call& call, std::size_t i) {
  T value{};
  return call.a[i] != 0 && copy_in(call.memory, call.a[i], value) ? describe(value) : pointer_text(call.a[i]);
}

std::string describe_time(const GuestTimespec& time) {
  return format("{tv_sec=%lld, tv_nsec=%lld}", time.seconds, time.nanoseconds);
}
std::string describe_timeval(const GuestTimeval& time) {
  return format("{tv_sec=%lld, tv_usec=%lld}", time.seconds, time.microseconds);
}
std::string describe_itimer(const GuestItimerval& timer) {
  return "{it_interval=" + describe_timeval(timer.interval) + ", it_value=" + describe_timeval(timer.value) + "}";
}
std::string describe_stat(const GuestStat& stat) {
  constexpr Name kTypes[] = {{0010000, "S_IFIFO"}, {0020000, "S_IFCHR"}, {0040000, "S_IFDIR"}, {0060000, "S_IFBLK"},
                             {0100000, "S_IFREG"}, {0120000, "S_IFLNK"}, {0140000, "S_IFSOCK"}};
  const std::string type = one_of({"S_IF???", kTypes}, stat.mode & 0170000);
  return "{st_mode=" + type + format("|%#03o, st_size=%lld, ...}", stat.mode & 07777, stat.size);
}
std::string describe_limit(const GuestRlimit& limit) {
  const auto text = [](u64 value) {
    if (value == ~u64{0}) return std::string("RLIM64_INFINITY");
    return value > 1024 && value % 1024 == 0 ? std::to_string(value / 1024) + "*1024" : std::to_string(value);
  };
  return "{rlim_cur=" + text(limit.current) + ", rlim_max=" + text(limit.maximum) + "}";
}
std::string describe_set(const u64& set) {
  // Sets that are almost full are shown by what is missing.
  const bool inverted = __builtin_popcountll(set) > 32;
  std::string text;
  for (u64 number = 1; number <= u64{kSignals}; ++number)
    if (((set >> (number - 1) & 1) != 0) != inverted) text += (text.empty() ? "" : " ") + signal_name(number).substr(3);
  return (inverted ? "~[" : "[") + text + "]";
}
std::string describe_action(const GuestSigaction& action) {
  const std::string handler = action.handler == 0   ? "SIG_DFL"
                              : action.handler == 1 ? "SIG_IGN"
                                                    : pointer_text(action.handler);
  std::string text = "{sa_handler=" + handler + ", sa_mask=" + describe_set(action.mask) +
                     ", sa_flags=" + flags_of(kSigactionNames, action.flags);
  if (action.flags & 0x04000000) text += ", sa_restorer=" + pointer_text(action.restorer);
  return text + "}";
}
std::string describe_stack(const GuestStack& stack) {
  return "{ss_sp=" + pointer_text(stack.sp) + ", ss_flags=" + flags_of(kSignalStackNames, u32(stack.flags)) +
         ", ss_size=" + std::to_string(stack.size) + "}";
}
std::string describe_utsname(const GuestUtsname& name) {
  const auto text = [](const char(&field)[65]) {
    return quoted(std::string(field, std::find(field, field + 65, '\0')), false);
  };
  return "{sysname=" + text(name.sysname) + ", nodename=" + text(name.nodename) + ", ...}";
}
std::string describe_int(const i32& value) { return "[" + std::to_string(value) + "]"; }
std::string describe_pair(const std::array<i32, 2>& pair) {
  return "[" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + "]";
}

std::string polls_text(const Call& call, std::size_t i) {
  if (call.a[i + 1] == 0) return pointer_text(call.a[i]);
  return array_text<GuestPollfd>(call, call.a[i], u32(call.a[i + 1]), [](const GuestPollfd& poll) {
    return "{fd=" + std::to_string(poll.fd) + ", events=" + flags_of(kPollNames, u16(poll.events)) + "}";
  });
}
// Only those that wait have a time; to others the argument is a number or nothing.
std::string futex_time_text(const Call& call, std::size_t i) {
  constexpr u32 kWait = 0, kWaitBitset = 9;
  const u32 operation = u32(call.a[1]) & 127;
  if (operation != kWait && operation != kWaitBitset) return "";
  return struct_text<GuestTimespec, describe_time>(call, i);
}

}  // namespace

std::string pointer_text(u64 address) { return address == 0 ? "NULL" : hex(address); }

std::string quoted(const std::string& bytes, bool cut, bool all_hex) {
  std::string text = "\"";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned char byte = static_cast<unsigned char>(bytes[i]);
    constexpr std::string_view kPlain = "\"\\\n\t\r\f\v", kLetters = "\"\\ntrfv";
    const std::size_t known = kPlain.find(bytes[i]);
    const bool digit_follows = i + 1 < bytes.size() && bytes[i + 1] >= '0' && bytes[i + 1] <= '7';
    if (all_hex) {
      text += format("\\x%02x", byte);
    } else if (known != std::string_view::npos) {
      text += {'\\', kLetters[known]};
    } else if (byte >= ' ' && byte <= '~') {
      text += bytes[i];
    } else {
      text += format(digit_follows ? "\\%03o" : "\\%o", byte);
    }
  }
  return text + (cut ? "\"..." : "\"");
}

namespace show {

const Argument number{number_text}, unsigned_number{unsigned_text}, size{size_text}, hexadecimal{hex_text},
    pointer{address_text}, octal{octal_text}, offset{offset_text}, fd{number_text}, at_fd{at_text}, user{number_text},
    key{key_text};

const Argument path{path_text}, text{text_text}, bytes{bytes_text}, bytes_back{bytes_back_text, true},
    text_back{text_back_text, true}, random_back{random_back_text, true}, vectors{vectors_text},
    vectors_back{vectors_back_text, true};

const Argument access{flags_text<kAccessNames>}, advice{one_text<kAdviceNames>}, at_flags{flags_text<kAtNames>},
    clock{one_text<kClockNames>}, clone_flags{clone_flags_text}, epoll_flags{flags_text<kEpollNames>},
    fcntl{one_text<kFcntlNames>}, fcntl_value{fcntl_value_text}, futex{futex_text}, how{one_text<kHowNames>},
    ioctl{one_text<kIoctlNames>}, lock{flags_text<kLockNames>}, map_flags{flags_text<kMapNames>},
    msync_flags{flags_text<kMsyncNames>}, open_flags{open_flags_text}, open_mode{open_mode_text},
    prctl{one_text<kPrctlNames>}, prctl_value{prctl_value_text}, protection{flags_text<kProtectionNames>},
    random_flags{flags_text<kRandomNames>}, remap_flags{flags_text<kRemapNames>}, remap_target{remap_target_text},
    resource{one_text<kResourceNames>}, rusage{one_text<kRusageNames>}, shmctl{one_text<kShmctlNames>},
    shmat_flags{flags_text<kShmatNames>}, shmget_flags{shmget_flags_text}, signal{signal_text},
    timer{one_text<kTimerNames>}, wait_flags{flags_text<kWaitNames>}, whence{one_text<kWhenceNames>};

constexpr auto kTime = struct_text<GuestTimespec, describe_time>;
constexpr auto kTimer = struct_text<GuestItimerval, describe_itimer>;
constexpr auto kLimit = struct_text<GuestRlimit, describe_limit>;
constexpr auto kSet = struct_text<u64, describe_set>;
constexpr auto kAction = struct_text<GuestSigaction, describe_action>;
constexpr auto kStack = struct_text<GuestStack, describe_stack>;
const Argument time{kTime}, time_back{kTime, true}, timeval_back{struct_text<GuestTimeval, describe_timeval>, true},
    itimer{kTimer}, itimer_back{kTimer, true}, stat_back{struct_text<GuestStat, describe_stat>, true}, limit{kLimit},
    limit_back{kLimit, true}, set{kSet}, set_back{kSet, true}, action{kAction}, action_back{kAction, true},
    stack{kStack}, stack_back{kStack, true}, polls{polls_text},
    pair_back{struct_text<std::array<i32, 2>, describe_pair>, true}, int_back{struct_text<i32, describe_int>, true},
    utsname_back{struct_text<GuestUtsname, describe_utsname>, true}, futex_time{futex_time_text};

}  // namespace show
}  // namespace kvrm::linux_abi
