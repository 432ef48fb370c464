#include "linux/strace.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "linux/signal_state.h"
#include "linux/strace_names.h"
#include "linux/syscall_table.h"

namespace kvrm::linux_abi {
namespace {

struct Layout {
  const char* name;
  std::array<const Argument*, 6> arguments;
};

template <class... Arguments>
Layout layout(const char* name, const Arguments&... arguments) {
  return {name, {&arguments...}};
}

const std::vector<Layout>& layouts() {
  using namespace show;  // NOLINT(google-build-using-namespace)
  static const std::vector<Layout> all = {
#define KVRM_TEXT(name, ...) layout(#name __VA_OPT__(, ) __VA_ARGS__),
#include "linux/strace_table.inc"
  };
  return all;
}

// Null for calls that have none: all six arguments are numbers then.
const Layout* layout_of(u32 number) {
  static const auto by_number = [] {
    std::array<const Layout*, kCallNumbers> table{};
    for (u32 i = 0; i < kCallNumbers; ++i) {
      const std::string_view name = call_name(i);
      const auto found =
          std::find_if(layouts().begin(), layouts().end(), [&](const Layout& one) { return name == one.name; });
      if (!name.empty() && found != layouts().end()) table[i] = &*found;
    }
    return table;
  }();
  return number < kCallNumbers ? by_number[number] : nullptr;
}

bool is_address(std::string_view name) {
  return name == "mmap" || name == "mremap" || name == "brk" || name == "shmat";
}

std::string result_text(std::string_view name, i64 result, const TracedCall& call) {
  constexpr i64 kLastError = 4095;
  constexpr u32 kGetDescriptor = 1, kGetFlags = 3;
  if (result == kRestart) return "? ERESTARTSYS (To be restarted if SA_RESTART is set)";
  if (result < 0 && result >= -kLastError) {
    const char* words = strerrordesc_np(int(-result));
    return "-1 " + error_name(-result) + " (" + (words ? words : "?") + ")";
  }
  if (is_address(name)) return hex(u64(result));
  if (name == "umask") return show::octal.show({call.memory, {u64(result)}}, 0);
  if (name == "fcntl" && u32(call.a[1]) == kGetFlags)
    return hex(u64(result)) + " (flags " + show::open_flags.show({call.memory, {u64(result)}}, 0) + ")";
  if (name == "fcntl" && u32(call.a[1]) == kGetDescriptor && result != 0)
    return hex(u64(result)) + " (flags FD_CLOEXEC)";
  return std::to_string(result);
}

}  // namespace

CallTrace::CallTrace(const memory::GuestMemory& memory, u32 number, const std::array<u64, 6>& arguments)
    : number_(number), call_{memory, arguments, 0} {
  const Layout* known = layout_of(number);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!known) {
      arguments_.push_back(hex(arguments[i]));
    } else if (const Argument* one = known->arguments[i]) {
      arguments_.push_back(one->after ? pointer_text(arguments[i]) : one->show(call_, i));
    }
  }
}

std::string CallTrace::text() const {
  const std::string name = call_name(number_);
  std::string line = (name.empty() ? "syscall_" + hex(number_) : name) + "(";
  bool first = true;
  for (const std::string& argument : arguments_) {
    if (argument.empty()) continue;
    line += (first ? "" : ", ") + argument;
    first = false;
  }
  return line + ")";
}

std::string CallTrace::returned(i64 result) {
  const Layout* known = layout_of(number_);
  call_.result = result;
  for (std::size_t i = 0; known && result >= 0 && i < arguments_.size(); ++i)
    if (known->arguments[i]->after) arguments_[i] = known->arguments[i]->show(call_, i);
  return text() + " = " + result_text(call_name(number_), result, call_);
}

std::string CallTrace::did_not_return(bool ended) { return text() + (ended ? " = ?" : " = ? <unfinished ...>"); }

std::string signal_text(const GuestSiginfo& info) {
  const std::string name = signal_name(u32(info.signo));
  std::string text = "--- " + name + " {si_signo=" + name + ", si_code=" + signal_code_name(info.signo, info.code);
  const bool is_fault = info.code > 0 && info.code < kSiKernel;
  if (is_fault) {
    text += ", si_addr=" + pointer_text(info.detail);
  } else if (info.code <= 0) {
    text += ", si_pid=" + std::to_string(i32(u32(info.detail))) + ", si_uid=" + std::to_string(info.detail >> 32);
  }
  return text + "} ---";
}

std::string end_text(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kExit: return "+++ exited with " + std::to_string(outcome.code) + " +++";
    case Outcome::Kind::kSignal: return "+++ killed by " + signal_name(u32(outcome.code)) + " +++";
    case Outcome::Kind::kDeadlock: return "+++ killed by SIGKILL +++";
    default: return "";
  }
}

bool has_argument_kinds(u32 number) { return layout_of(number) != nullptr; }

}  // namespace kvrm::linux_abi
