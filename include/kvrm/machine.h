// The public face of KVRM: one Machine, with options.
//
//   auto machine = kvrm::Machine::create();
//   machine->load(code, 0x1000);                     // raw bytes, or load_program() for a Linux ELF
//   machine->set_pc(0x1000);
//   auto stop = machine->run(1'000'000);
//   std::printf("%llu\n", machine->x(0));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvrm/inspect.h"
#include "kvrm/result.h"

namespace kvrm {

enum class Device { kAuto, kCpu, kCuda };
enum class Engine { kAuto, kInterpreter, kJit };
enum class Clock { kVirtual, kHost };

struct Options {
  Device device = Device::kAuto;
  Engine engine = Engine::kAuto;
  unsigned lanes = 1;
  std::uint64_t memory_limit = std::uint64_t{4} << 30;  // bytes of private memory a guest may use
};

// A Linux program and its surroundings.
struct Program {
  std::string path;                // the ELF file on the host
  std::vector<std::string> args;   // argv[1] and on; argv[0] is path
  std::vector<std::string> env;    // "K=V"
  std::string root;                // the one host folder the guest may see; empty: none
  Clock clock = Clock::kVirtual;
  std::uint64_t seed = 0;          // of getrandom and AT_RANDOM
  bool verbose = false;            // name unknown system calls on stderr
  int standard_input = 0, standard_output = 1, standard_error = 2;  // host descriptors
};

enum class StopReason {
  kExit,        // the program called exit
  kHalt,        // HLT on a raw machine
  kBreakpoint,  // BRK on a raw machine
  kBudget,      // exactly as many instructions as asked for have retired
  kFault,       // a memory access or fetch on a raw machine that the map forbids
  kUndefined,   // a word that is no instruction, on a raw machine
  kSignal,      // a Linux program was killed by a signal
  kSystemCall,  // SVC on a raw machine without a hook, or the hook asked to stop
  kCancelled,   // cancel() was called
};
const char* to_string(StopReason reason);

enum class FaultKind { kNone, kUnmapped, kPermission, kAlignment, kPcAlignment, kOutOfMemory };

struct Stop {
  StopReason reason = StopReason::kBudget;
  int exit_status = 0;          // kExit
  int signal = 0;               // kSignal
  FaultKind fault = FaultKind::kNone;  // kFault
  bool fault_is_write = false;  // kFault
  std::uint64_t address = 0;    // kFault: the address; kBreakpoint, kHalt: the immediate
  std::uint64_t pc = 0;         // where the lane stands
  std::uint32_t word = 0;       // the word there, if it can be read
  std::string message;          // one line for a person; may be empty
};

struct Vector {
  std::uint64_t lo = 0, hi = 0;
  friend bool operator==(const Vector&, const Vector&) = default;
};

// Everything a debugger shows, in one piece.
struct Registers {
  std::uint64_t x[31] = {};
  std::uint64_t sp = 0;
  std::uint64_t pc = 0;
  std::uint32_t nzcv = 0;  // in bits 31..28
  std::uint32_t fpcr = 0;
  std::uint32_t fpsr = 0;
  std::uint64_t tpidr_el0 = 0;
  Vector v[32] = {};
};

// Floating-point operations on one element: answered by the inline fast path, or by a function that is called.
struct FloatStatistics {
  std::uint64_t fast = 0, slow = 0;
};

struct Statistics {
  std::uint64_t instructions = 0;
  double seconds = 0;  // spent in run()
  std::uint64_t system_calls = 0;
  std::uint64_t launches = 0;          // calls of the device that ran the program
  std::uint64_t decoded_words = 0;     // words the predecode cache took in
  std::uint64_t code_invalidations = 0;  // pages of decoded code dropped because something wrote there
  std::uint64_t private_bytes = 0;     // private memory in use
  std::optional<FloatStatistics> floats;  // in a build with KVRM_COUNT_FLOAT only
  std::string device = "cpu";
  std::string engine = "interp";
};

enum Protection : std::uint32_t { kProtectNone = 0, kProtectRead = 1, kProtectWrite = 2, kProtectExecute = 4 };

class Machine {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  static Result<Machine> create(const Options& options = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // A Linux program: maps it, builds its stack, sets the registers. System calls and signals are served.
  Result<void> load_program(const Program& program);

  // A raw machine: bytes at an address, pages mapped readable, writable and executable where none are yet.
  Result<void> load(std::span<const std::byte> bytes, std::uint64_t address, unsigned lane = 0);
  Result<void> map(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane = 0);
  Result<void> protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane = 0);
  void unmap(std::uint64_t address, std::uint64_t size, unsigned lane = 0);

  // Memory as a debugger sees it: page permissions do not matter, holes do.
  Result<void> read(std::uint64_t address, std::span<std::byte> to, unsigned lane = 0) const;
  Result<void> write(std::uint64_t address, std::span<const std::byte> from, unsigned lane = 0);

  unsigned lanes() const;
  std::uint64_t x(unsigned index, unsigned lane = 0) const;  // 0..30
  void set_x(unsigned index, std::uint64_t value, unsigned lane = 0);
  std::uint64_t sp(unsigned lane = 0) const;
  void set_sp(std::uint64_t value, unsigned lane = 0);
  std::uint64_t pc(unsigned lane = 0) const;
  void set_pc(std::uint64_t value, unsigned lane = 0);
  std::uint32_t nzcv(unsigned lane = 0) const;
  void set_nzcv(std::uint32_t value, unsigned lane = 0);
  Vector v(unsigned index, unsigned lane = 0) const;  // 0..31
  void set_v(unsigned index, Vector value, unsigned lane = 0);
  Registers registers(unsigned lane = 0) const;
  void set_registers(const Registers& registers, unsigned lane = 0);

  // Called for SVC on a raw machine. Return false to stop with kSystemCall.
  using SystemCallHook = std::function<bool(Machine& machine, unsigned lane, std::uint32_t immediate)>;
  void on_system_call(SystemCallHook hook);

  // Runs until something stops it; after a budget stop, run() goes on where it stopped.
  Stop run(std::uint64_t budget = kNoLimit, unsigned lane = 0);
  // May be called from another thread or a signal handler; the running lane stops within milliseconds.
  void cancel();

  Statistics statistics() const;

 private:
  struct Parts;
  explicit Machine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm
