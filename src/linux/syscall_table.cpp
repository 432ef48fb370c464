#include "linux/syscall_table.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {
namespace {

struct Row {
  const char* name = "";
  i64 (*handler)(Kernel&, Call&) = nullptr;
  i64 result = -ENOSYS;
  const char* missing = "";  // why it is not supported; null: it is
};

using Table = std::array<Row, kCallNumbers>;

constexpr Table make_table() {
  Table table{};
#define KVRM_CALL(number, name) table[number] = Row{#name, &sys_##name, 0, nullptr};
#define KVRM_SAME(number, name, handler) table[number] = Row{#name, &sys_##handler, 0, nullptr};
#define KVRM_LANE(number, name) KVRM_CALL(number, name)
#define KVRM_LANE_SAME(number, name, handler) KVRM_SAME(number, name, handler)
#define KVRM_FIXED(number, name, result) table[number] = Row{#name, nullptr, result, nullptr};
#define KVRM_NONE(number, name, what) table[number] = Row{#name, nullptr, -kEnosys, what};
#define KVRM_REFUSED(number, name, result, what) table[number] = Row{#name, nullptr, result, what};
#include "linux/syscalls.inc"
  return table;
}

constexpr Table kTable = make_table();

const Row& row_of(u32 number) {
  static constexpr Row kNoRow;
  return number < kCallNumbers ? kTable[number] : kNoRow;
}

i64 not_supported(Kernel& kernel, u32 number) {
  const i64 result = row_of(number).result;
  kernel.unsupported = number + 1;
  const bool new_one = number >= kCallNumbers || !kernel.named[number];
  if (kernel.options.verbose && new_one) {
    const std::string name = call_name(number);
    kernel.log("system call " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")") +
               " is not supported: " + strerrorname_np(int(-result)));
    if (number < kCallNumbers) kernel.named[number] = true;
  }
  return result;
}

}  // namespace

const char* call_name(u32 number) { return row_of(number).name; }

std::string missing_call(u32 number) {
  const Row& row = row_of(number);
  const std::string name = *row.name ? row.name : "system call " + std::to_string(number);
  return name + " is not supported" + (row.missing && *row.missing ? std::string(": ") + row.missing : "");
}

i64 dispatch(Kernel& kernel, Call& call, u32 number) try {
  const Row& row = row_of(number);
  if (row.missing) return not_supported(kernel, number);
  return row.handler ? row.handler(kernel, call) : row.result;
} catch (const std::exception&) {
  return -ENOMEM;  // the host's memory is all that can run out here
}

// Calls without a file of their own: the end of a process, and sockets. The machine has no network, so no descriptor is
// a socket.
i64 sys_exit(Kernel& kernel, Call& call) { return kernel.end({Outcome::Kind::kExit, exit_status(call.a[0])}); }

i64 sys_not_a_socket(Kernel& kernel, Call& call) { return kernel.files.get(call.a[0]) ? -ENOTSOCK : -EBADF; }

}  // namespace kvrm::linux_abi
