#include "linux/process.h"

#include <asm/termbits.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "linux/freestanding/layout.h"
#include "linux/host_io.h"
#include "linux/kernel_state.h"
#include "linux/lane_host.h"
#include "linux/start.h"
#include "linux/strace.h"
#include "linux/syscall_table.h"

namespace kvrm::linux_abi {
namespace {

constexpr u64 kUnlimited = ~u64{0};
constexpr std::size_t kLimitStack = 3, kLimitCore = 4, kLimitProcesses = 6, kLimitMemlock = 8, kLimitSigpending = 11,
                      kLimitMsgqueue = 12, kLimitNice = 13, kLimitRtprio = 14;

void set_default_limits(GuestRlimit (&limits)[kLimits]) {
  std::fill(std::begin(limits), std::end(limits), GuestRlimit{kUnlimited, kUnlimited});
  limits[kLimitStack] = {kStackSize, kUnlimited};
  limits[kLimitCore] = {0, kUnlimited};
  limits[kLimitProcesses] = {1, 1};
  limits[kLimitFiles] = {FileTable::kMaxFiles, FileTable::kMaxFiles};
  limits[kLimitMemlock] = {8 << 20, 8 << 20};
  limits[kLimitSigpending] = {1024, 1024};
  limits[kLimitMsgqueue] = {819200, 819200};
  limits[kLimitNice] = limits[kLimitRtprio] = {0, 0};
}

ProcessOptions with_account(ProcessOptions options) {
  if (!options.account) options.account = std::make_shared<memory::Account>(kUnlimited);
  return options;
}

Result<void> open_folders(Kernel& kernel) {
  auto sandbox = Sandbox::create(kernel.options.root, kernel.options.hidden);
  if (!sandbox) return sandbox.error();
  kernel.sandbox = std::move(*sandbox);
  if (kernel.sandbox.has_root()) {
    kernel.cwd = HostFd(kernel.sandbox.open_path("/", true));
    if (!kernel.cwd) return Error{"the root folder " + *kernel.options.root + " cannot be used"};
    // Files below the root carry the host's owners, so the guest is who the host says. Without a root
    // nothing of the host shows, and the ids are fixed.
    kernel.uid = ::getuid();
    kernel.gid = ::getgid();
  }
  return {};
}

// The program's file is opened once, now or before: later its name could be made to mean another file.
void open_program(Kernel& kernel) {
  const auto& options = kernel.options;
  if (options.exe_path.empty()) return;
  kernel.exe = options.exe ? options.exe : open_exe_file(options.exe_path);
  if (!kernel.exe) return;
  const std::string& full = kernel.exe->name;
  kernel.exe_name = kernel.sandbox.path_of(full).value_or(full.empty() ? options.exe_path : full);
}

// A process that ends says what may have led to it.
Outcome finished(Kernel& kernel, Outcome outcome) {
  using Kind = Outcome::Kind;
  if ((outcome.kind == Kind::kSignal || outcome.kind == Kind::kDeadlock) && kernel.unsupported != 0) {
    const std::string missing = missing_call(kernel.unsupported - 1);
    kernel.message = kernel.message.empty() ? missing : kernel.message + "; " + missing;
  }
  if (const std::string text = end_text(outcome); kernel.options.trace && !text.empty()) kernel.options.trace(text);
  return outcome;
}

// A call that has ended, before its signals.
void trace_result(const Kernel& kernel, const Cpu& cpu, CallTrace& trace, i64 result) {
  if (kernel.ended) {
    const auto kind = kernel.ended->kind;
    const bool waits = kind == Outcome::Kind::kDeadlock || kind == Outcome::Kind::kCancelled;
    kernel.options.trace(trace.did_not_return(!waits));
  } else {
    kernel.options.trace(trace.returned(kernel.keep_x0 ? i64(cpu.x[0]) : result));
  }
}

Outcome run_signals(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory, std::optional<u64> interrupted_x0) {
  fire_timers(kernel, cpu);
  return finished(kernel, deliver_signals(kernel, cpu, memory, interrupted_x0).value_or(Outcome{}));
}

GuestSiginfo siginfo_for(Trap trap, const Cpu& cpu) {
  const u64 address = reported_address(cpu.fault_address);
  GuestSiginfo info{};
  const auto is = [&](int signal, int code, u64 at) {
    info = make_siginfo(signal, code);
    info.detail = at;
  };
  switch (trap) {
    case Trap::kUnmapped: is(kSigsegv, kSegvMaperr, address); break;
    case Trap::kPermission: is(kSigsegv, kSegvAccerr, address); break;
    case Trap::kAlignment: is(kSigbus, kBusAdraln, address); break;
    case Trap::kPcAlignment: is(kSigbus, kBusAdraln, cpu.pc); break;
    case Trap::kBreakpoint: is(kSigtrap, kTrapBrkpt, cpu.pc); break;
    default: is(kSigill, kIllIllopc, cpu.pc); break;  // undefined words and HLT
  }
  return info;
}

}  // namespace

Kernel::Kernel(ProcessOptions given) : options(with_account(std::move(given))), clock(options.clock) {
  random.state = options.seed;
  set_default_limits(limits);
}

void Kernel::log(const std::string& line) const {
  if (options.log) return options.log(line);
  write_quietly(STDERR_FILENO, "kvrm: " + line + "\n");
}

void Kernel::trace_signal(const GuestSiginfo& info) const {
  if (options.trace) options.trace(signal_text(info));
}

i64 Kernel::end(Outcome outcome, std::string why) {
  ended = outcome;
  message = std::move(why);
  return 0;
}

i64 Kernel::end_out_of_memory() {
  return end({Outcome::Kind::kSignal, kSigkill}, "the program used up the memory it was given");
}

i64 Kernel::after_wait(Wait wait, const char* what) {
  switch (wait) {
    case Wait::kInterrupted: return kRestart;
    case Wait::kCancelled: return end({Outcome::Kind::kCancelled, 0});
    case Wait::kNever:
      return end({Outcome::Kind::kDeadlock, 0},
                 std::string("the program waits for something that can never happen: ") + what);
    default: return 0;
  }
}

Result<Process> Process::create(ProcessOptions options) try {
  auto kernel = std::make_unique<Kernel>(std::move(options));
  if (auto opened = open_folders(*kernel); !opened) return opened.error();
  open_program(*kernel);
  kernel->files.set_most_open(kernel->options.most_files);
  const auto& given = kernel->options;
  const std::array<std::shared_ptr<OpenFile>, 3> standard = {
      given.input ? make_memory_input(given.input) : borrow_host_file(given.stdin_fd),
      given.output ? make_memory_output(1, given.output) : borrow_host_file(given.stdout_fd),
      given.errors ? make_memory_output(2, given.errors) : borrow_host_file(given.stderr_fd)};
  for (u64 number = 0; number < standard.size(); ++number)
    if (standard[number]) kernel->files.put(number, standard[number], false);
  know_standard_files(*kernel, standard);
  return Process(std::move(kernel));
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left"};
}

Process::Process(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;

Process::~Process() {
  // A program that died in raw mode should not leave the person's terminal in it.
  if (kernel_ && kernel_->terminal_before) ::ioctl(kernel_->terminal_fd, TCSETS, kernel_->terminal_before->data());
}

Result<void> Process::start(const Program& program, Cpu& cpu, memory::GuestMemory& memory) try {
  auto loaded = load_program(program, memory);
  if (!loaded) return loaded.error();
  StackContents contents;
  contents.args = kernel_->options.args;
  contents.env = kernel_->options.env;
  contents.exec_name = !contents.args.empty() ? contents.args[0] : kernel_->exe_name;
  contents.uid = kernel_->uid;
  contents.gid = kernel_->gid;
  kernel_->random.fill(contents.random, sizeof contents.random);
  const auto sp = build_stack(contents, *loaded, program.executable_stack, memory);
  if (!sp) return sp.error();
  kernel_->brk_start = kernel_->brk = loaded->brk_start;
  const std::size_t slash = contents.exec_name.rfind('/');
  const std::string name = contents.exec_name.substr(slash == std::string::npos ? 0 : slash + 1, 15);
  std::memcpy(kernel_->thread_name, name.data(), name.size());

  const u64 clock = cpu.clock_ns;
  cpu = Cpu{};
  cpu.clock_ns = clock;
  cpu.pc = loaded->entry;
  cpu.x[kSpSlot] = sp.value();
  return {};
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left"};
}

Outcome Process::system_call(Cpu& cpu, memory::GuestMemory& memory) try {
  Kernel& kernel = *kernel_;
  cpu.exclusive_size = 0;
  kernel.files.set_limit(kernel.limits[kLimitFiles].current);
  Call call{cpu, memory, {cpu.x[0], cpu.x[1], cpu.x[2], cpu.x[3], cpu.x[4], cpu.x[5]}};
  std::optional<CallTrace> trace;
  if (kernel.options.trace) trace.emplace(memory, u32(cpu.x[8]), call.a);
  const i64 result = dispatch(kernel, call, u32(cpu.x[8]));
  if (trace) trace_result(kernel, cpu, *trace, result);
  if (kernel.ended) {
    const Outcome outcome = *kernel.ended;
    if (outcome.kind == Outcome::Kind::kCancelled) {
      kernel.ended.reset();
      cpu.pc -= 4;
    }
    return finished(kernel, outcome);
  }
  if (std::exchange(kernel.keep_x0, false)) return run_signals(kernel, cpu, memory, std::nullopt);
  if (result == kRestart) return run_signals(kernel, cpu, memory, call.a[0]);
  cpu.x[0] = u64(result);
  return run_signals(kernel, cpu, memory, std::nullopt);
} catch (const std::exception&) {
  kernel_->message = "the host has no memory left";
  return {Outcome::Kind::kSignal, kSigkill};
}

Outcome Process::fault(Cpu& cpu, memory::GuestMemory& memory, Trap trap) try {
  Kernel& kernel = *kernel_;
  cpu.exclusive_size = 0;
  if (trap == Trap::kOutOfMemory) {
    (void)kernel.end_out_of_memory();
    return finished(kernel, *kernel.ended);
  }
  const GuestSiginfo info = siginfo_for(trap, cpu);
  if (info.signo == kSigsegv || info.signo == kSigbus) kernel.signals.fault_address = info.detail;
  if (auto outcome = force_signal(kernel, cpu, memory, info)) return finished(kernel, *outcome);
  return run_signals(kernel, cpu, memory, std::nullopt);
} catch (const std::exception&) {
  kernel_->message = "the host has no memory left";
  return {Outcome::Kind::kSignal, kSigkill};
}

std::optional<u64> Process::next_deadline_ns(const Cpu* cpu) const {
  constexpr u64 kHostSlice = 10'000'000;  // instructions between two readings of the host's clock
  const Clock& clock = kernel_->clock;
  if (!clock.is_virtual() && !cpu) return std::nullopt;
  std::optional<u64> first;
  for (const Timer& timer : kernel_->timers)
    if (timer.deadline != 0 && (!first || timer.deadline < *first)) first = timer.deadline;
  if (!first || clock.is_virtual()) return first;
  const u64 now = clock.monotonic_ns(*cpu);
  return cpu->clock_ns + (*first > now ? std::min(*first - now, kHostSlice) : 0);
}

Outcome Process::tick(Cpu& cpu, memory::GuestMemory& memory) try {
  return run_signals(*kernel_, cpu, memory, std::nullopt);
} catch (const std::exception&) {
  kernel_->message = "the host has no memory left";
  return {Outcome::Kind::kSignal, kSigkill};
}

LaneProcess Process::lane_process(const Cpu& cpu) const {
  // A signal that waits is due now.
  const bool now = kernel_->signals.deliverable();
  return lane_view(*kernel_, now ? 0 : next_deadline_ns(&cpu).value_or(kNoDeadline));
}

void Process::set_lane_process(const LaneProcess& process) { take_lane_view(*kernel_, process); }

std::optional<GuestStat> Process::standard_stat(u32 fd) const {
  GuestStat stat{};
  const auto file = kernel_->files.get(fd);
  if (fd >= kernel_->standard_files.size() || !file || file != kernel_->standard_files[fd]) return std::nullopt;
  return stat_file(*kernel_, file->host_fd, file->is_memory() ? &file->memory : nullptr, stat) == 0
             ? std::optional(stat)
             : std::nullopt;
}

const std::string& Process::program_name() const { return kernel_->exe_name; }

memory::Account& Process::account() const { return *kernel_->options.account; }

void Process::set_cancel(const std::atomic<bool>* cancel) { kernel_->options.cancel = cancel; }

const std::string& Process::message() const { return kernel_->message; }

}  // namespace kvrm::linux_abi
