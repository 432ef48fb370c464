// The values that go into a Machine and come out of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvrm/api.h"

namespace kvrm {

enum class Device { kAuto, kCpu, kCuda };
enum class Engine { kAuto, kInterpreter, kJit };
enum class Clock { kVirtual, kHost };
// Who decides the routing class of an instruction: the table, the network, or the table with the network's answers
// recorded beside it.
enum class Dispatch { kTable, kNeural, kHybrid };
KVRM_API const char* to_string(Dispatch dispatch);

struct Weights;  // models.h
using WeightsPointer = std::shared_ptr<const Weights>;
class ProgramFile;  // program_file.h
using ProgramFilePointer = std::shared_ptr<const ProgramFile>;

struct Options {
  Device device = Device::kAuto;
  Engine engine = Engine::kAuto;
  unsigned lanes = 1;
  std::uint64_t memory_limit = std::uint64_t{4} << 30;  // bytes for a guest, and what the host keeps for it
  // Jobs on a GPU do not share a warp, which is best unless they do the same in lockstep: fewer run at a time, each far
  // faster.
  bool spread_jobs = false;
  // One memory for all lanes of a raw machine, with atomics between them: they run at the same time, as many as the
  // device has room for. The memory limit is that of the one memory. What is mapped when they first run stays so.
  bool common_memory = false;
  // The translator: how many samples must reach code before it is translated, whatever that costs (0: everything,
  // before it first runs; none: when interpreting it has taken as long as translating it will), and how many seconds of
  // compiling it may take in all.
  std::optional<unsigned> jit_threshold = {};
  std::optional<double> jit_budget = {};
  // Keep what was compiled in the user's cache folder, and take it from there. A program whose root overlaps the folder
  // turns that off for the machine (cache.h), but not for a GPU kernel that was loaded before.
  bool code_cache = true;
  bool perf_map = false;  // CPU device: write /tmp/perf-PID.map, which names translated code to perf(1)
  // For a process that ends with std::_Exit: letting go of a machine waits for no compiler that is still at work.
  bool abandon_compilers = false;
  unsigned threads = 0;  // CPU device: host threads for its lanes; 0: all there are
  unsigned device_ordinal = 0;  // which GPU, as its driver counts them
  // Host descriptors that all guests of the machine may hold together; 0: what the process may open when the machine is
  // made (the soft RLIMIT_NOFILE, which the library leaves as it is), less some for the machine. Guests that run at the
  // same time get equal parts, between 16 and 1024 each; one that opens more gets EMFILE.
  unsigned descriptors = 0;
  Dispatch dispatch = Dispatch::kTable;
  WeightsPointer weights = {};  // of the dispatch network; null: those that come with the library
  bool unverified = false;  // kNeural: take weights without a passed verification; the statistics say so
  bool dispatch_every = false;  // decide anew whenever an instruction runs, to measure what it costs
  // Gets a line when something takes long before a run, or is not done as asked.
  std::function<void(const std::string&)> notice = {};
};

// A Linux program and its surroundings.
struct Program {
  std::string path;  // the ELF file on the host
  ProgramFilePointer file = {};  // that file, read before; null: each load and each batch of jobs opens it by name
  std::vector<std::string> args = {};  // argv[1] and on; argv[0] is path
  std::vector<std::string> env;  // "K=V"
  std::string root;  // the one host folder the guest may see; empty: none
  Clock clock = Clock::kVirtual;
  std::uint64_t seed = 0;  // of getrandom and AT_RANDOM
  bool verbose = false;  // name unknown system calls on stderr
  bool strace = false;  // write every system call and signal to stderr, as strace does
  int standard_input = 0, standard_output = 1, standard_error = 2;  // host descriptors
  // Instead of descriptors: bytes that the guest reads from its stdin; and what it writes is kept for
  // Machine::take_output(). The guest sees pipes.
  std::optional<std::string> input;
  bool keep_output = false;
  std::uint64_t max_output = std::uint64_t{16} << 20;  // bytes kept per stream; what comes after is dropped
};

enum class StopReason {
  kExit,  // the program called exit
  kHalt,  // HLT on a raw machine
  kBreakpoint,  // BRK on a raw machine
  kBudget,  // exactly as many instructions as asked for have retired
  kFault,  // a memory access or fetch on a raw machine that the map forbids
  kUndefined,  // a word that is no instruction, on a raw machine
  kSignal,  // a Linux program was killed by a signal
  kSystemCall,  // SVC on a raw machine without a hook, or the hook asked to stop
  kCancelled,  // cancel() was called
  kTimeout,  // a job took longer than JobLimits::timeout
  kDevice,  // the device failed; the message says how
};
KVRM_API const char* to_string(StopReason reason);

enum class FaultKind { kNone, kUnmapped, kPermission, kAlignment, kPcAlignment, kOutOfMemory };

struct Stop {
  StopReason reason = StopReason::kBudget;
  int exit_status = 0;  // kExit
  int signal = 0;  // kSignal
  FaultKind fault = FaultKind::kNone;  // kFault
  bool fault_is_write = false;  // kFault
  std::uint64_t address = 0;  // kFault: the address; kBreakpoint, kHalt: the immediate
  std::uint64_t pc = 0;  // where the lane stands
  std::uint32_t word = 0;  // the word there when it came to rest; 0 if nothing is mapped
  std::uint64_t instructions = 0;  // retired by this run of the lane
  std::string message;  // one line for a person; may be empty
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
  friend bool operator==(const Registers&, const Registers&) = default;
};

// A lane's registers where they are, without copies: written and read while the lane is at rest. They stay valid for as
// long as `owner` lives, and are the lane's until a program is loaded into it.
struct RegisterView {
  std::shared_ptr<void> owner;
  std::span<unsigned long long, 31> x;
  std::span<unsigned long long, 64> v;  // V0's low half, V0's high half, V1's low half, ...
};

// Bytes that a guest and its host both see, for as long as `owner` lives.
struct SharedMemory {
  std::shared_ptr<void> owner;
  std::span<std::byte> bytes;
};

// Floating-point operations on one element: answered by the inline fast path, or by a function that is called.
struct FloatStatistics {
  std::uint64_t fast = 0, slow = 0;
};

// How words got their routing class. Classes by number (models.h has their names).
struct DispatchStatistics {
  Dispatch mode = Dispatch::kTable;
  std::string weights;  // where they came from and their checksum; empty: the table alone
  bool verified = true;  // false: the network decided without a passed verification
  bool every = false;
  std::array<std::uint64_t, 7> routed{};  // words sent to each class
  std::array<std::array<std::uint64_t, 7>, 7> confusion{};  // kHybrid: [the table's class][the network's]
};

// How guest code ran: in the interpreter, or in translated regions. Instructions and seconds of a tier are estimated
// from samples; all else is counted.
struct Tier {
  std::string name;  // interp, regions
  std::uint64_t instructions = 0;
  double seconds = 0;
  std::uint64_t regions = 0;
  std::uint64_t words = 0;  // guest words in them, with repetitions
  std::uint64_t distinct_words = 0;
  double translation_seconds = 0;  // of processor time spent making them

  // How often a word was translated, on average.
  double overlap() const {
    return distinct_words == 0 ? 0 : static_cast<double>(words) / static_cast<double>(distinct_words);
  }
  friend bool operator==(const Tier&, const Tier&) = default;
};

struct Statistics {
  std::uint64_t instructions = 0;
  std::uint64_t shared_instructions = 0;  // GPU: of these, those that ran once for several jobs
  double seconds = 0;  // spent in run()
  std::uint64_t system_calls = 0;
  std::uint64_t in_kernel_calls = 0;  // GPU: of the system calls, those the kernel answered itself
  std::uint64_t mailbox_calls = 0;  // GPU: of the system calls, those the host answered
  std::uint64_t launches = 0;  // calls of the device that ran the program
  std::string launches_reason;  // why there may be more than one for a run; empty: there is one
  std::uint64_t jobs = 0;  // finished by run_jobs()
  std::uint64_t decoded_words = 0;  // words the predecode cache took in
  std::uint64_t code_invalidations = 0;  // pages of decoded code dropped because something wrote there
  std::uint64_t regions = 0;  // translated
  std::uint64_t cached_regions = 0;  // of them from the cache on disk
  std::uint64_t region_words = 0;  // guest words in them, with repetitions
  double translation_seconds = 0;  // spent making them
  double link_seconds = 0;  // of these, linking; on a GPU, what the driver took to compile, link and load them
  std::vector<Tier> tiers;  // CPU device, with a translator
  std::uint64_t private_bytes = 0;  // private memory in use
  std::optional<FloatStatistics> floats;  // CPU device, in a build with KVRM_COUNT_FLOAT only
  DispatchStatistics dispatch;
  std::string device = "cpu";
  std::string engine = "interp";
};

// What a program wrote, and whether more was dropped.
struct Output {
  std::string output, errors;
  bool output_cut = false, errors_cut = false;
};

enum Protection : std::uint32_t { kProtectNone = 0, kProtectRead = 1, kProtectWrite = 2, kProtectExecute = 4 };

}  // namespace kvrm
