#include "linux/dispatch.h"

#include <cerrno>
#include <new>
#include <stdexcept>

#include "linux/errors.h"

namespace kvrm::linux_abi {
namespace {

struct Row {
  const char* name = "";
  i64 (*handler)(Kernel&, Call&) = nullptr;
  i64 result = -ENOSYS;
  bool known = false;
};

using Table = std::array<Row, kCallNumbers>;

constexpr Table make_table() {
  Table table{};
#define KVRM_CALL(number, name) table[number] = Row{#name, &sys_##name, 0, true};
#define KVRM_SAME(number, name, handler) table[number] = Row{#name, &sys_##handler, 0, true};
#define KVRM_LANE(number, name) KVRM_CALL(number, name)
#define KVRM_LANE_SAME(number, name, handler) KVRM_SAME(number, name, handler)
#define KVRM_FIXED(number, name, result) table[number] = Row{#name, nullptr, result, true};
#define KVRM_NONE(number, name) table[number] = Row{#name, nullptr, -kEnosys, false};
#include "linux/syscalls.inc"
  return table;
}

constexpr Table kTable = make_table();

i64 unknown(Kernel& kernel, u32 number) {
  const bool new_one = number >= kCallNumbers || !kernel.named[number];
  if (kernel.options.verbose && new_one) {
    const std::string name = call_name(number);
    kernel.log("system call " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")") +
               " is not supported: ENOSYS");
    if (number < kCallNumbers) kernel.named[number] = true;
  }
  return -ENOSYS;
}

}  // namespace

const char* call_name(u32 number) { return number < kCallNumbers ? kTable[number].name : ""; }

i64 dispatch(Kernel& kernel, Call& call, u32 number) try {
  if (number >= kCallNumbers || !kTable[number].known) return unknown(kernel, number);
  const Row& row = kTable[number];
  return row.handler ? row.handler(kernel, call) : row.result;
} catch (const std::exception&) {
  return -ENOMEM;  // the host's memory is all that can run out here
}

}  // namespace kvrm::linux_abi
